/** A relay between clients and a server, killed again and again, and what must be true afterwards.
 * Oracles: every message that got 250 arrives at every recipient that takes it, byte-identical
 * (O1); what arrives twice was in flight at a kill: the relay had begun it, or had its answer for
 * less than `flightMs` (O3); nothing arrives that was not sent (O5); a recipient that is refused
 * for good is reported to the sender once. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { numberedMail, type NumberedMail } from './mail.js'
import { argsOf, RelayProcess } from './relay-process.js'
import { deliveryKey, hashOf, openSink, type Delivery, type Report, type Sink } from './sink.js'
import { trafficUnderKills, type Scenario, type Traffic } from './traffic.js'

/** How long after an answer its record may be unsynced: two syncs and the relay's turn, with room
 * for a busy machine. */
const flightMs = 250
/** A delivery whose end the sink reads from its socket after the relay is gone. */
const lateMs = 500
const drainMs = 30_000

export interface Evidence extends Traffic {
  readonly deliveries: ReadonlyMap<string, readonly Delivery[]>
  readonly reports: readonly Report[]
}

const isTaken = (recipient: string): boolean => !recipient.startsWith('fail-')

/** @param recipients local parts, without the number */
export async function killed(
  scenario: Scenario,
  recipients: (number: number) => readonly string[],
): Promise<Evidence> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-kill-'))
  const sink = await openSink()
  const options = { queue: join(directory, 'queue'), relay: `${sink.host}:${sink.port}`, retry: '1s,2s,5s' }
  const relay = new RelayProcess(argsOf({ ...options, 'log-level': 'warn' }), {}, { makesQueue: true })
  try {
    const mailOf = (number: number): NumberedMail => numberedMail(scenario.seed, number, recipients(number))
    const traffic = await trafficUnderKills(relay, scenario, mailOf, () => sink.busyCount())
    await drained(sink, traffic.settled, relay)
    return { ...traffic, deliveries: sink.deliveries(), reports: sink.reports() }
  } finally {
    await relay.kill()
    sink.close()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Waits until everything settled has arrived, and then as long as a duplicate would need. */
async function drained(
  sink: Sink,
  settled: ReadonlyMap<number, NumberedMail>,
  relay: RelayProcess,
): Promise<void> {
  for (
    const endMs = performance.now() + drainMs;
    performance.now() < endMs && relay.isRunning;
    await sleep(200)
  ) {
    const before = sink.takenCount()
    const deliveries = sink.deliveries()
    const reported = new Set(sink.reports().map(({ number }) => number))
    const isComplete = [...settled.values()].every(
      ({ number, recipients }) =>
        recipients.every(
          (recipient) => !isTaken(recipient) || deliveries.has(deliveryKey(number, recipient)),
        ) &&
        (recipients.every(isTaken) || reported.has(number)),
    )
    if (!isComplete) continue
    await sleep(1500)
    if (sink.takenCount() === before) return
  }
}

/** What is wrong, in words; empty when all promises are kept. */
export function faultsOf({ settled, sent, kills, deliveries, reports }: Evidence): string[] {
  const faults: string[] = []
  for (const { number, recipients } of settled.values()) {
    for (const recipient of recipients.filter(isTaken)) {
      if (!deliveries.has(deliveryKey(number, recipient))) faults.push(`lost: ${number} to ${recipient}`)
    }
  }
  const inFlight = (atMs: number): boolean =>
    kills.some((kill) => atMs >= kill.atMs - flightMs && atMs <= kill.atMs + lateMs)
  const hashes = new Map<number, string>()
  for (const [key, copies] of deliveries) {
    const number = Number.parseInt(key, 10)
    const mail = sent.get(number)
    const recipient = key.slice(key.indexOf(' ') + 1)
    if (mail === undefined || !mail.recipients.includes(recipient) || !isTaken(recipient)) {
      faults.push(`never sent: ${key}`)
      continue
    }
    const hash = hashes.get(number) ?? hashOf(mail.data)
    hashes.set(number, hash)
    if (copies.some((copy) => copy.hash !== hash)) faults.push(`changed: ${key}`)
    const unexplained = copies.slice(0, -1).filter(({ atMs }) => !inFlight(atMs))
    if (unexplained.length > 0) faults.push(`twice without a kill: ${key}, ${copies.length} copies`)
  }
  return [...faults, ...reportFaults(settled, sent, reports, inFlight)]
}

function reportFaults(
  settled: Evidence['settled'],
  sent: Evidence['sent'],
  reports: readonly Report[],
  inFlight: (atMs: number) => boolean,
): string[] {
  const faults: string[] = []
  const byNumber = new Map<number, Report[]>()
  for (const report of reports) byNumber.set(report.number, [...(byNumber.get(report.number) ?? []), report])
  for (const number of byNumber.keys()) {
    if (!sent.has(number)) faults.push(`a report about ${number}, which was never sent`)
  }
  for (const { number, recipients } of sent.values()) {
    const refused = recipients.filter((recipient) => !isTaken(recipient))
    const copies = byNumber.get(number) ?? []
    const distinct = [...new Map(copies.map((report) => [report.messageId, report])).values()]
    const named = distinct.flatMap((report) => report.recipients).sort()
    const isSettled = settled.has(number)
    if ((isSettled || named.length > 0) && named.join() !== [...refused].sort().join()) {
      faults.push(`reports about ${number} name [${named.join()}] instead of [${refused.join()}]`)
    }
    if (copies.length > distinct.length && copies.slice(0, -1).every(({ atMs }) => !inFlight(atMs))) {
      faults.push(`a report about ${number} came twice without a kill`)
    }
  }
  return faults
}

export function summaryOf({ settled, sent, kills, deliveries, reports }: Evidence): string {
  const copies = [...deliveries.values()]
  const repeated = copies.flatMap((all) => all.slice(0, -1))
  // One transaction with ten recipients that comes twice is one duplicate.
  const twiceCount = new Set(repeated.map(({ atMs }) => atMs)).size
  const busyCount = kills.reduce((sum, kill) => sum + kill.busyCount, 0)
  return (
    `${settled.size} of ${sent.size} messages settled, ${copies.length} recipients reached, ${kills.length} kills with ` +
    `${busyCount} deliveries in flight, ${twiceCount} came twice` +
    (twiceCount === 0
      ? ''
      : ` (answered at most ${Math.max(...repeated.map((copy) => beforeKillMs(copy, kills))).toFixed(0)} ms before a kill)`) +
    `, ${reports.length} reports`
  )
}

/** How long before the next kill a delivery was answered; 0 when the kill came first. */
function beforeKillMs({ atMs }: Delivery, kills: Evidence['kills']): number {
  const next = kills.find((kill) => kill.atMs + lateMs > atMs)
  return next === undefined ? Infinity : Math.max(0, next.atMs - atMs)
}
