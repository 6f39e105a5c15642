/** Carries out one inspection of a queue's directory. It takes no lock, and writes nothing. */
import { thrownText } from '../../base/realms.js'
import { position } from '../../base/position.js'
import { nodeDisk } from '../../disk/node-disk.js'
import { WaybillError } from '../../errors.js'
import { isDamage, type Finding, type Report } from '../../inspect/damage/finding.js'
import { AgeTable } from '../../inspect/figures/age-table.js'
import { countAges } from '../../inspect/figures/message-ages.js'
import { logStatistics, type LogStatistics } from '../../inspect/figures/log-statistics.js'
import { Messages } from '../../inspect/messages/messages.js'
import { selectsLane, type MetMessage } from '../../inspect/messages/queued-message.js'
import { QueueDirectory } from '../../inspect/queue/queue-directory.js'
import { takeSnapshot, type Snapshot } from '../../inspect/queue/snapshot.js'
import { historyOf } from '../../inspect/records/history.js'
import { isStillNeeded, snapshotAt } from '../../inspect/records/past-snapshot.js'
import { fieldsOf, type LoggedRecord } from '../../inspect/records/records.js'
import { verify } from '../../inspect/verify/verify.js'
import { queueNameOf, type QueueName } from '../../lane/lane.js'
import {
  findingsMax,
  type InspectionAnswer,
  type InspectionOrder,
  type OnProgress,
  type QshapeOrder,
  type ShownLog,
  type ShownRecord,
} from './orders.js'

interface Inspection {
  readonly directory: QueueDirectory
  readonly snapshot: Snapshot
  readonly report: Report
  readonly onProgress: OnProgress
}

/** @param path of the queue's directory
 * @throws WaybillError NOT_A_QUEUE, FORMAT_NEWER, DISK_FAILED; OPTION_INVALID for a position that
 * the journal does not reach */
export async function inspected(
  path: string,
  order: InspectionOrder,
  onProgress: OnProgress,
): Promise<InspectionAnswer> {
  const disk = nodeDisk(path)
  const findings = new Map<string, Finding>()
  const report = (finding: Finding): void => {
    if (findings.size < findingsMax) findings.set(JSON.stringify(finding), finding)
  }
  try {
    const directory = await QueueDirectory.open(disk, report)
    if (directory === undefined)
      throw new WaybillError('NOT_A_QUEUE', 'there is no queue', { directory: path })
    const snapshot = await takeSnapshot(directory)
    for (const finding of snapshot.findings) report(finding)
    const answer = await carriedOut({ directory, snapshot, report, onProgress }, order)
    return { ...answer, findings: [...findings.values()] }
  } finally {
    disk.abandon()
  }
}

function carriedOut(inspection: Inspection, order: InspectionOrder): Promise<Record<string, unknown>> {
  switch (order.kind) {
    case 'qshape':
      return qshape(inspection, order)
    case 'segments':
      return segments(inspection)
    case 'verify':
      return verified(inspection)
    case 'history':
      return history(inspection, order.id)
    case 'at':
      return at(inspection, order.position)
  }
}

async function qshape(
  { directory, snapshot, report, onProgress }: Inspection,
  { by, lanes, buckets, firstMs, linear, limit, nowMs }: QshapeOrder,
): Promise<Record<string, unknown>> {
  const wanted = lanes.map((lane) => (/^\d+$/.test(lane) ? Number(lane) : (lane as QueueName)))
  const ages = new AgeTable(buckets, firstMs, linear)
  const messages = new Messages(directory, snapshot, { report, onProgress })
  const isCounted = ({ where, lane }: MetMessage): boolean =>
    wanted.some((one) => selectsLane(one, where, lane))
  await countAges(ages, messages, { bySender: by === 'sender', isCounted, nowMs }, report)
  return {
    heads: ages.heads,
    rows: [ages.total, ...ages.domains.slice(0, limit)],
    domainCount: ages.domains.length,
  }
}

async function segments({ directory, snapshot, report }: Inspection): Promise<Record<string, unknown>> {
  const { segmentBytes, laneSegmentBytes } = directory.header
  const logs = (await logStatistics(directory, snapshot, report)).map((log): ShownLog => ({
    ...log,
    segmentBytes: log.name === 'journal' ? segmentBytes : laneSegmentBytes,
    marks: marksOf(log, snapshot),
  }))
  const { suffix, end, working, checkpoint } = snapshot
  const life = checkpoint?.life ?? 1
  return { logs, restart: { life, suffix, end, suffixBytes: end - suffix, activeCount: working.length } }
}

function marksOf({ name, end }: LogStatistics, { suffix, lanes }: Snapshot): ShownLog['marks'] {
  const runners = lanes.filter(({ inJournal, lane }) =>
    name === 'journal' ? inJournal : name === `${lane}/envelopes`,
  )
  return [
    { name: 'end', position: end },
    ...(name === 'journal' ? [{ name: 'suffix' as const, position: suffix }] : []),
    ...runners.map(({ runner }) => ({ name: 'runner' as const, position: runner })),
    ...lanes.flatMap(({ lane, dataFloor }) =>
      name === `${lane}/data` ? [{ name: 'floor' as const, position: dataFloor }] : [],
    ),
  ]
}

async function verified({ directory, report, onProgress }: Inspection): Promise<Record<string, unknown>> {
  let count = 0
  const counted = (finding: Finding): void => {
    count++
    report(finding)
  }
  const { snapshot, batchCount, recordCount, messageCount, dataBytes, leftoverCount } = await verify(
    directory,
    counted,
    onProgress,
  )
  return {
    isSound: count === 0,
    batchCount,
    recordCount,
    messageCount,
    dataBytes,
    tornTailBytes: snapshot.journal.cutBytes,
    leftoverSpoolFileCount: leftoverCount,
  }
}

async function history(
  { directory, snapshot, report, onProgress }: Inspection,
  id: string,
): Promise<Record<string, unknown>> {
  let read = 0
  const records = await historyOf(directory, snapshot, id, report, (bytes) =>
    onProgress((read += bytes), snapshot.end),
  )
  return { records: records.map(shownRecord) }
}

function shownRecord({ payload, timeMs, ...record }: LoggedRecord): ShownRecord {
  try {
    return { ...record, at: timeMs, fields: fieldsOf(record.kind, payload) }
  } catch (error) {
    if (!isDamage(error)) throw error
    return { ...record, at: timeMs, fields: { damaged: thrownText(error) } }
  }
}

async function at(
  { directory, snapshot, report, onProgress }: Inspection,
  wanted: number | undefined,
): Promise<Record<string, unknown>> {
  const past = await snapshotAt(directory, snapshot, wanted === undefined ? snapshot.end : position(wanted))
  if (past.kind === 'gone') throw new WaybillError('OPTION_INVALID', past.reason, { option: 'position' })
  const judge = (finding: Finding): void => {
    // What lay there then may be recycled by now.
    if (isStillNeeded(finding, directory, snapshot)) report(finding)
  }
  for (const finding of past.snapshot.findings) judge(finding)
  const counts = new Map<string, number>()
  const messages = new Messages(directory, past.snapshot, { report: judge, onProgress })
  await messages.each(({ where, lane }) => {
    const key = where === 'active' ? where : String(lane)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  })
  return {
    position: wanted,
    activeCount: counts.get('active') ?? 0,
    lanes: past.snapshot.lanes.map(({ lane, kind, intervalMs }) => ({
      lane,
      queue: queueNameOf(kind),
      intervalMs: intervalMs === Infinity ? null : intervalMs,
      messageCount: counts.get(String(lane)) ?? 0,
    })),
  }
}
