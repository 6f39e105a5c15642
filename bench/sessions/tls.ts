/** A relay that is behind STARTTLS on both sides, over sessions that are kept. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Output, Row } from '../output.js'
import { certificateIn, postfixTls, waybillTls } from '../relays/certificate.js'
import { postfix, postfixMissing } from '../relays/postfix.js'
import { placed, type Relay, type RelayOptions } from '../relays/relay.js'
import { waybill } from '../relays/waybill.js'
import { Sink } from './sink.js'
import { rowsOf } from './turns.js'

/** @returns a row for each relay */
export async function overTls(output: Output, directory: string, isSmoke: boolean): Promise<Row[]> {
  const certificate = certificateIn(directory, 'bench.example.org')
  const pem = { key: readFileSync(certificate.key), cert: readFileSync(certificate.cert) }
  const sink = await Sink.start(pem)
  const relays: Relay[] = []
  try {
    const at = (name: string): RelayOptions => placed(join(directory, `tls-${name}`), sink.port)
    relays.push(await waybill({ ...at('waybill'), more: waybillTls(certificate) }))
    const missing = postfixMissing()
    if (missing !== undefined) output.note(`${missing}; it was not measured.`)
    else {
      const levels = [...postfixTls(certificate), 'smtp_tls_security_level = encrypt']
      relays.push(await postfix({ ...at('postfix'), more: levels }))
    }
    return await rowsOf(relays, sink, { isTls: true }, isSmoke)
  } finally {
    for (const relay of relays) await relay.stop()
    await sink.stop()
  }
}
