/** A relay that is behind STARTTLS on both sides, over sessions that are kept. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Output, Row } from '../output.js'
import { postfix, postfixMissing } from '../relays/postfix.js'
import type { Relay } from '../relays/relay.js'
import { waybill } from '../relays/waybill.js'
import { Sink } from './sink.js'
import { rowsOf } from './turns.js'

/** @returns a row for each relay */
export async function overTls(output: Output, directory: string, isSmoke: boolean): Promise<Row[]> {
  const certificate = { path: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
  const subject = ['-subj', '/CN=bench.example.org', '-days', '2', '-nodes']
  const files = ['-keyout', certificate.key, '-out', certificate.path]
  await promisify(execFile)('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...subject, ...files])
  const pem = { key: readFileSync(certificate.key), cert: readFileSync(certificate.path) }
  const sink = await Sink.start(pem)
  const relays: Relay[] = []
  try {
    const options = (name: string): { directory: string; sinkPort: number } => {
      const own = join(directory, `tls-${name}`)
      mkdirSync(own)
      return { directory: own, sinkPort: sink.port }
    }
    const words = ['--tls-cert', certificate.path, '--tls-key', certificate.key]
    relays.push(await waybill({ ...options('waybill'), more: words }))
    const missing = postfixMissing()
    if (missing !== undefined) output.note(`${missing}; it was not measured.`)
    else {
      const files = [`smtpd_tls_cert_file = ${certificate.path}`, `smtpd_tls_key_file = ${certificate.key}`]
      const levels = ['smtpd_tls_security_level = may', 'smtp_tls_security_level = encrypt']
      relays.push(await postfix({ ...options('postfix'), more: [...files, ...levels] }))
    }
    return await rowsOf(relays, sink, { isTls: true }, isSmoke)
  } finally {
    for (const relay of relays) await relay.stop()
    await sink.stop()
  }
}
