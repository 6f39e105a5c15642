/** Mail of other kinds than `relay` sends, through Waybill and Postfix in turn. It has many
 * recipients, is signed, is logged in, or goes to a thousand domains that are looked up. */
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchArguments } from '../bench.js'
import type { Row } from '../output.js'
import { postfix, postfixMissing } from '../relays/postfix.js'
import { placed, type Relay, type RelayOptions } from '../relays/relay.js'
import { waybill } from '../relays/waybill.js'
import { mailOf } from '../sessions/send.js'
import { Sink } from '../sessions/sink.js'
import { rowsOf, turnOf, type Sending } from '../sessions/turns.js'
import { toDomains } from './domains.js'
import { loggedIn, login } from './logins.js'
import type { Settings } from './settings.js'
import { signed } from './signed.js'

export interface Kind {
  readonly title: string
  readonly sending: Sending
  /** Of the relays; `note` says why a side takes no part. */
  readonly settings?: (directory: string, note: (text: string) => void) => Promise<Settings>
  /** What must stand in the header of mail that arrives. */
  readonly header?: RegExp
}

const kibibyte = 1024
const hundred = Array.from({ length: 100 }, (_, i) => `recipient${i}@example.net`)
const toHundred = mailOf(kibibyte, hundred)

const kinds: readonly Kind[] = [
  { title: '1 KiB, 100 recipients of one domain', sending: { mail: () => toHundred } },
  { title: '1 KiB, signed (DKIM, RSA 2048)', sending: {}, settings: signed, header: /^DKIM-Signature: /im },
  ...[true, false].map((isKept): Kind => ({
    title: `1 KiB, AUTH PLAIN behind STARTTLS, ${isKept ? 'sessions are kept' : 'a session for each message'}`,
    sending: { isKept, isTls: true, login },
    settings: loggedIn,
  })),
]

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  chmodSync(directory, 0o711)
  const note = (text: string): void => output.note(text)
  for (const [index, kind] of kinds.entries()) {
    const own = join(directory, `kind-${index}`)
    mkdirSync(own)
    chmodSync(own, 0o711)
    output.table(kind.title, await measured(kind, own, note, smoke))
  }
  const domains = await toDomains(directory, note, smoke)
  if (domains.length > 0) output.table('1 KiB, 1000 domains by a resolver on loopback', domains)
  output.note('Median (least–most) of the rounds; ratios are taken within a round.')
}

async function measured(
  { sending, settings, header }: Kind,
  directory: string,
  note: (text: string) => void,
  isSmoke: boolean,
): Promise<Row[]> {
  const sink = await Sink.start()
  const relays: Relay[] = []
  const asked = (await settings?.(directory, note)) ?? { waybill: [], postfix: [] }
  try {
    const at = (name: string): RelayOptions => placed(join(directory, name), sink.port)
    relays.push(await waybill({ ...at('waybill'), more: asked.waybill }))
    const missing = postfixMissing()
    if (missing !== undefined) note(`${missing}; it was not measured.`)
    else if (asked.postfix !== undefined) {
      const relay = await postfix({ ...at('postfix'), more: asked.postfix, files: asked.postfixFiles ?? {} })
      relays.push({ ...relay, helperIds: asked.helperIds ?? [] })
    }
    for (const relay of relays) {
      await turnOf(relay, sink, sending, 1)
      checkHeader(relay, sink, header)
    }
    return await rowsOf(relays, sink, sending, isSmoke)
  } finally {
    for (const relay of relays) await relay.stop()
    await asked.stop?.()
    await sink.stop()
  }
}

/** @throws Error when a relay does not do what is measured */
function checkHeader({ name }: Relay, { lastHeader }: Sink, wanted: RegExp | undefined): void {
  if (wanted !== undefined && !wanted.test(lastHeader))
    throw new Error(`${name}: ${String(wanted)} is not in the header of what arrives: ${lastHeader}`)
}
