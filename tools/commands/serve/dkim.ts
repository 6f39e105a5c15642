/** The table of `serve --dkim`: whose mail is signed, and with which key. Read before anything is
 * opened.
 * Invariant: an error names the line of the table; of a key nothing is said but what is
 * wrong with it. */
import { dirname, resolve } from 'node:path'
import { WaybillError } from '../../../src/errors.js'
import { DkimKeys, rsaBitsAdvised, type DkimKey } from '../../../src/relay/dkim/dkim-keys.js'
import { tableLines } from '../../../src/relay/tables/table-lines.js'
import { lineOf, type Arguments } from '../cli/command.js'
import { givenFile } from '../text/given-file.js'
import { fileTextOf } from '../tables/relay-files.js'

export interface DkimTable {
  /** undefined: mail leaves as it is. */
  readonly keys: readonly DkimKey[] | undefined
  /** Those whose RSA key is shorter than is advised. */
  readonly keyFiles: readonly string[]
  readonly weak: readonly { readonly domain: string; readonly selector: string; readonly bits: number }[]
}

/** @throws UsageError, WaybillError OPTION_INVALID */
export async function dkimTableOf(args: Arguments): Promise<DkimTable> {
  const path = args.one('dkim')
  if (path === undefined) return { keys: undefined, keyFiles: [], weak: [] }
  const text = await fileTextOf('dkim', path)
  const dkimKeys = new DkimKeys()
  const keys: DkimKey[] = []
  const weak: DkimTable['weak'][number][] = []
  /** By path: many domains may have one. */
  const files = new Map<string, DkimKey['privateKey']>()
  for (const { text: line, place } of tableLines(text, 'dkim', path)) {
    const [, domain, selector, file] = /^\s*(\S+)\s+(\S+)\s+(\S.*?)\s*$/.exec(line) ?? []
    if (domain === undefined || selector === undefined || file === undefined)
      throw new WaybillError('OPTION_INVALID', 'a key is a line DOMAIN SELECTOR KEYFILE', place)
    const keyPath = resolve(dirname(path), file)
    const given =
      files.get(keyPath) ??
      (await givenFile(keyPath).catch((error: unknown) => {
        throw new WaybillError('OPTION_INVALID', lineOf(error), place)
      }))
    const { privateKey, rsaBits = rsaBitsAdvised } = dkimKeys.add(
      { domain, selector, privateKey: given },
      place,
    )
    files.set(keyPath, privateKey)
    keys.push({ domain, selector, privateKey })
    if (rsaBits < rsaBitsAdvised) weak.push({ domain, selector, bits: rsaBits })
  }
  if (keys.length === 0) throw new WaybillError('OPTION_INVALID', 'there is no key', { option: 'dkim', path })
  return { keys, keyFiles: [...files.keys()], weak }
}
