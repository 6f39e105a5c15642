/** Finds the store that a command is about.
 * Invariant: named by --store or by the environment, never guessed. */
import process from 'node:process'
import { isStoreUrl } from '../../../src/store/is-store-url.js'
import { hasPassword } from '../cli/shown-queue.js'
import { UsageError, type Arguments, type Option } from '../cli/command.js'

export const storeVariable = 'WAYBILL_STORE'

export const storeOption: Readonly<Record<string, Option>> = {
  store: { value: 'URL', help: `postgres://USER@HOST,HOST/DATABASE ($${storeVariable})` },
}

/** @throws UsageError */
export function storeUrlOf(args: Arguments): string {
  const given = args.one('store')
  if (given !== undefined && hasPassword(given))
    throw new UsageError('--store takes no password: others read command lines; use PGPASSFILE')
  const url = given ?? process.env[storeVariable] ?? ''
  if (!isStoreUrl(url)) throw new UsageError('--store takes postgres://USER@HOST/DATABASE')
  return url
}
