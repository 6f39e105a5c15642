/** A relay that is behind STARTTLS on both sides, over sessions that are kept: from a client and to
 * a server of this process. What those cost is not counted, but they share the machine. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Output, Row } from '../output.js'
import { spreadOf } from '../output.js'
import { treeUsage } from '../process-tree.js'
import { postfix, postfixMissing } from '../relays/postfix.js'
import type { Relay } from '../relays/relay.js'
import { waybill } from '../relays/waybill.js'
import { Client } from './client.js'
import { send } from './send.js'
import { Sink } from './sink.js'

const clientCount = 20
const roundsUsual = 5
/** About three seconds. */
const counts = { waybill: 3000, postfix: 600 }

interface Turn {
  readonly rate: number
  readonly cpuMicroseconds: number
}

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
    const turns = new Map(relays.map((relay) => [relay, [] as Turn[]]))
    // The first is for compilers.
    for (let round = isSmoke ? 1 : 0; round <= (isSmoke ? 1 : roundsUsual); round++)
      for (const relay of relays) {
        const turn = await turnOf(relay, sink, isSmoke ? 20 : counts[relay.name as keyof typeof counts])
        if (round > 0) turns.get(relay)!.push(turn)
      }
    return rowsOf(turns)
  } finally {
    for (const relay of relays) await relay.stop()
    await sink.stop()
  }
}

function rowsOf(turns: ReadonlyMap<Relay, readonly Turn[]>): Row[] {
  const [first = []] = turns.values()
  return [...turns].map(([{ name }, own]) => ({
    relay: name,
    'messages/s': spreadOf(own.map(({ rate }) => rate)),
    'waybill is × as fast': spreadOf(own.map(({ rate }, i) => first[i]!.rate / rate)),
    'CPU µs/message': spreadOf(own.map(({ cpuMicroseconds }) => cpuMicroseconds)),
    'waybill needs 1/× of the CPU': spreadOf(
      own.map(({ cpuMicroseconds }, i) => cpuMicroseconds / first[i]!.cpuMicroseconds),
    ),
  }))
}

async function turnOf(relay: Relay, sink: Sink, count: number): Promise<Turn> {
  const clients = await Promise.all(Array.from({ length: clientCount }, () => Client.open(relay.port, true)))
  const first = sink.next
  sink.next += count
  const cpuBeforeMs = treeUsage(relay.processId).cpuMs
  const startedAt = performance.now()
  let taken = 0
  await Promise.all(
    clients.map(async (client) => {
      while (taken < count) await send(client, first + taken++)
    }),
  )
  const isThere = (): boolean =>
    Array.from({ length: count }, (_, i) => first + i).every((id) => sink.arrivals.has(id))
  for (let looks = 0; !isThere(); looks++) {
    if (looks > 6000) throw new Error(`${relay.name}: messages do not arrive`)
    await sleep(5)
  }
  const ms = performance.now() - startedAt
  for (const client of clients) client.close()
  const cpuMs = treeUsage(relay.processId).cpuMs - cpuBeforeMs
  return { rate: (count * 1000) / ms, cpuMicroseconds: (cpuMs * 1000) / count }
}
