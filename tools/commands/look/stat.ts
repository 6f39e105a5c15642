/** `waybill stat`: shows how many messages wait, where and how long, and what a start would
 * read. */
import { Messages } from '../../../src/inspect/messages/messages.js'
import { queueNameOf, type QueueName } from '../../../src/lane/lane.js'
import { takeSnapshot, type Snapshot } from '../../../src/inspect/queue/snapshot.js'
import {
  complainOf,
  exits,
  inspectCommand,
  jsonOption,
  unchecked,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import type { SuspensionRecord } from '../../../src/record/checkpoint.js'
import { bytesText, durationText, printable, table, type Cell } from '../text/shown-text.js'

export const stat: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR] [--json]',
    options: jsonOption,
  },
  unchecked,
  show,
)

interface Row {
  readonly where: QueueName
  readonly lane: number
  readonly intervalMs: number
  count: number
  recipientCount: number
  dataBytes: number
  oldestAt: number
  nextDueAt: number
}

async function show(inspected: Inspected): Promise<number> {
  const { directory, args, out, report, progress } = inspected
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const rows = await rowsOf(inspected, snapshot)
  progress.end()
  if (args.isSet('json')) showJson(inspected, snapshot, rows)
  else showTable(inspected, snapshot, rows)
  await out.flush()
  complainOf(inspected)
  return exits.fine
}

/** The row of active messages, in the place of a lane's number. */
const activeLane = -1

/** A row for each lane and for the active messages, in order. */
async function rowsOf(
  { directory, report, progress }: Inspected,
  snapshot: Snapshot,
): Promise<readonly Row[]> {
  const none = { count: 0, recipientCount: 0, dataBytes: 0, oldestAt: Infinity, nextDueAt: Infinity }
  const rows = new Map<number, Row>([
    [activeLane, { where: 'active', lane: activeLane, intervalMs: 0, ...none }],
  ])
  for (const { kind, lane, intervalMs } of snapshot.lanes)
    rows.set(lane, { where: queueNameOf(kind), lane, intervalMs, ...none })
  const messages = new Messages(directory, snapshot, {
    report,
    onProgress: (done, all) => progress.show(done, all),
  })
  await messages.each(({ where, lane, active, envelope, waitingCount, dueAt }) => {
    // Damage shows when they are read.
    const { dataBytes, acceptedAt } = envelope
    // A message whose replacement is not trusted yet already waits in that lane.
    const row = rows.get(where === 'active' ? activeLane : (active?.replacement?.lane ?? lane))!
    row.count++
    row.recipientCount += waitingCount
    row.dataBytes += dataBytes
    row.oldestAt = Math.min(row.oldestAt, acceptedAt)
    row.nextDueAt = Math.min(row.nextDueAt, dueAt)
  })
  return [...rows.values()].sort((a, b) => order(a) - order(b))
}

/** What a start would read of the journal. */
const suffixBytesOf = ({ end, suffix }: Snapshot): number => Math.max(0, end - suffix)

function showJson({ out }: Inspected, snapshot: Snapshot, rows: readonly Row[]): void {
  for (const row of rows)
    out.json({
      queue_name: row.where,
      lane: row.where === 'active' ? null : row.lane,
      interval_ms: row.intervalMs === Infinity ? null : row.intervalMs,
      messages: row.count,
      recipients: row.recipientCount,
      data_bytes: row.dataBytes,
      oldest_time: row.oldestAt === Infinity ? null : Math.floor(row.oldestAt / 1000),
      next_due_time: row.nextDueAt === Infinity ? null : Math.floor(row.nextDueAt / 1000),
    })
  out.json({
    life: snapshot.checkpoint?.life ?? 1,
    journal_end: snapshot.end,
    suffix_bytes: suffixBytesOf(snapshot),
    suspended: suspensionsOf(snapshot).map(({ transport, nexthop, untilAt }) => ({
      transport: transport === '' ? null : transport,
      nexthop: nexthop === '' ? null : nexthop,
      until_time: untilAt === 0 ? null : Math.floor(untilAt / 1000),
    })),
  })
}

function showTable({ out, surroundings }: Inspected, snapshot: Snapshot, rows: readonly Row[]): void {
  const nowMs = surroundings.nowMs()
  const nextDueText = ({ where, count, nextDueAt }: Row): string => {
    if (where !== 'deferred' || count === 0) return ''
    return nextDueAt <= nowMs ? 'now' : durationText(nextDueAt - nowMs)
  }
  out.line(
    table(
      ['queue', 'lane', 'interval', 'messages', 'recipients', 'data', 'oldest', 'next due'],
      rows.map((row): Cell[] => [
        row.where,
        row.where === 'active' ? '' : String(row.lane),
        row.where !== 'deferred' ? '' : durationText(row.intervalMs),
        row.count,
        row.recipientCount,
        bytesText(row.dataBytes),
        row.oldestAt === Infinity ? '' : durationText(nowMs - row.oldestAt),
        nextDueText(row),
      ]),
    ),
  )
  out.line('')
  out.line(
    `life ${snapshot.checkpoint?.life ?? 1}, journal to ${snapshot.end}; a start would read ${bytesText(suffixBytesOf(snapshot))} of it`,
  )
  for (const suspension of suspensionsOf(snapshot)) out.line(suspensionText(suspension, nowMs))
}

/** What a start would let no delivery begin to, as far as a checkpoint says it. */
const suspensionsOf = ({ checkpoint }: Snapshot): readonly SuspensionRecord[] => checkpoint?.suspensions ?? []

function suspensionText({ transport, nexthop, untilAt }: SuspensionRecord, nowMs: number): string {
  const what = nexthop === '' ? `all of ${printable(transport)}` : printable(nexthop)
  const by = nexthop === '' || transport === '' ? '' : ` by ${printable(transport)}`
  return `suspended: ${what}${by}, ${untilAt === 0 ? 'until resumed' : `for ${durationText(Math.max(0, untilAt - nowMs))}`}`
}

const queueOrder: readonly QueueName[] = ['incoming', 'active', 'deferred', 'hold']
const order = ({ where, intervalMs }: Row): number =>
  queueOrder.indexOf(where) * 1e12 + (intervalMs === Infinity ? 0 : intervalMs)
