/** `waybill dkim-key`: a key that `serve --dkim` signs mail with.
 * Invariant: the key is nowhere but in its file, which its owner alone may read; no file
 * is overwritten. */
import { createPublicKey, generateKeyPair } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { DkimKeys, recordName, type SigningKey } from '../../../src/relay/dkim/dkim-keys.js'
import { UsageError, type Arguments, type Command } from '../cli/command.js'
import { print } from '../text/output.js'

export const dkimKey: Command = {
  synopsis: '[--ed25519] DOMAIN SELECTOR FILE',
  options: {
    ed25519: {
      help: 'Ed25519, which not every receiver knows: beside an RSA key, not instead (RSA, 2048 bits)',
    },
  },
  operands: true,
  notes:
    'FILE is made, readable for its owner alone; what is there already is not touched. What is printed is the TXT record for\n' +
    "the zone of DOMAIN, in strings as a zone file has them, and the line for the table of `serve --dkim`. SELECTOR tells a domain's\n" +
    'keys apart: a new key has a new one. Exit codes: 0 made, 1 not made, 2 usage.',
  run,
}

/** Of one string in a TXT record, octets. */
const stringBytesMax = 255

const generated = promisify(generateKeyPair)

async function run(args: Arguments): Promise<number> {
  const [domain, selector, file, ...others] = args.rest
  if (domain === undefined || selector === undefined || file === undefined || others.length > 0)
    throw new UsageError('expected DOMAIN, SELECTOR and FILE')
  const { privateKey } = args.isSet('ed25519')
    ? await generated('ed25519')
    : await generated('rsa', { modulusLength: 2048 })
  const key = new DkimKeys().add({ domain, selector, privateKey }, {})
  const path = resolve(file)
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  await writeFile(path, pem, { flag: 'wx', mode: 0o600, flush: true })
  return print(
    `For the zone of ${key.domain}:\n\n${recordOf(key)}\n\n` +
      `For the table of \`waybill serve --dkim\`, once that is there:\n\n${key.domain} ${key.selector} ${path}\n`,
  )
}

/** As a zone file has it. */
function recordOf({ domain, selector, privateKey, rsaBits }: SigningKey): string {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  // RFC 8463 §4 has the bare key of 32 octets, RFC 6376 §3.6.1 what OpenSSL writes.
  const text =
    rsaBits === undefined
      ? `v=DKIM1; k=ed25519; p=${publicKey.subarray(-32).toString('base64')}`
      : `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`
  const strings: string[] = []
  for (let at = 0; at < text.length; at += stringBytesMax)
    strings.push(`"${text.slice(at, at + stringBytesMax)}"`)
  return `${recordName(selector, domain)}. IN TXT ( ${strings.join('\n    ')} )`
}
