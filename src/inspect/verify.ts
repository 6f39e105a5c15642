/** Everything about a queue on disk that can be checked without opening it: each batch and each link of the journal that is still
 * needed, each lane up to where it is trusted, each message with its recipients and data, what a start would insist on, and the promises
 * that need no history: no message in two places, no outcome twice, nothing without its record.
 * A torn tail is normal; corruption is not. Before the positions of the newest checkpoint nothing is needed, and nothing is judged. */
import { position, type Position } from '../base/position.js'
import { crc32 } from '../base/checksum.js'
import { commitAt } from '../log/commit-frame.js'
import type { SegmentFiles } from '../log/segment-files.js'
import { scanFrames } from '../log/segment-scan.js'
import { segmentHeaderBytes, segmentIndexOf, segmentName } from '../log/segment.js'
import { kindAt, kinds } from '../record/frame.js'
import { damageAt, findingOf, isDamage, isSame, type Finding, type Report } from './finding.js'
import { Messages } from './messages.js'
import {
  lanesDirectory,
  spoolDirectory,
  spoolNumberOf,
  type LogName,
  type QueueDirectory,
} from './queue-directory.js'
import type { QueuedMessage } from './queued-message.js'
import { floorOf, takeSnapshot, type LaneView, type Snapshot } from './snapshot.js'

export interface Verified {
  readonly snapshot: Snapshot
  readonly batchCount: number
  readonly recordCount: number
  readonly messageCount: number
  readonly dataBytes: number
  /** Spool files that belong to no message: left by a crash, removed by the next start. */
  readonly leftoverCount: number
  /** Ids were compared with each other, up to `idsMax`. */
  readonly idsCompared: boolean
}

/** Ids kept to find one that is there twice. */
const idsMax = 2_000_000

export async function verify(
  directory: QueueDirectory,
  report: Report,
  onProgress: (doneBytes: number, allBytes: number) => void,
): Promise<Verified> {
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const journal = await verifyJournal(directory, snapshot, report)
  await confirmed(directory, report, laneTroubles)
  const messages = await verifyMessages(directory, snapshot, report, onProgress)
  return { snapshot, ...journal, ...messages }
}

/** Batches and links, from the first segment that is needed to the newest. */
async function verifyJournal(
  directory: QueueDirectory,
  snapshot: Snapshot,
  report: Report,
): Promise<Pick<Verified, 'batchCount' | 'recordCount'>> {
  const { grid } = snapshot.journal.files
  let batchCount = 0
  let recordCount = 0
  for (const index of snapshot.journal.indexes) {
    if (index < grid.indexOf(floorOf(snapshot))) continue
    for (let last: Finding | undefined; ;) {
      const walked = await walkSegment(directory, snapshot, index)
      if (walked.finding === undefined) {
        batchCount += walked.batchCount
        recordCount += walked.recordCount
        break
      }
      const now = await takeSnapshot(directory)
      if (index < grid.indexOf(floorOf(now))) break
      if (last !== undefined && isSame(last, walked.finding)) {
        if (
          !snapshot.findings.some(
            (known) =>
              known.segment === index &&
              known.log === 'journal' &&
              known.offsetBytes === walked.finding?.offsetBytes,
          )
        )
          report(walked.finding)
        break
      }
      last = walked.finding
    }
  }
  return { batchCount, recordCount }
}

interface Walked {
  readonly batchCount: number
  readonly recordCount: number
  readonly finding: Finding | undefined
}

async function walkSegment(directory: QueueDirectory, { journal }: Snapshot, index: number): Promise<Walked> {
  const files = directory.log('journal')
  const { grid } = files
  let batchCount = 0
  let recordCount = 0
  const lost = 'what the batch says: mail accepted in it, or what happened to mail'
  try {
    const size = await directory.size(`journal/${segmentName(index)}`)
    if (size !== grid.segmentBytes)
      return {
        batchCount,
        recordCount,
        finding: damageAt(files, grid.at(index, size ?? 0), 0, 'the segment is cut short', lost),
      }
    // What was prepared ahead has a header and no batch.
    const end =
      index > journal.newest
        ? grid.firstOf(index)
        : index === journal.newest
          ? journal.end
          : await journal.endOf(index)
    const offset = await files.with(index, async ({ file, seed }) => {
      let start = segmentHeaderBytes
      let checksum = 0
      await scanFrames(file, seed, start, end - grid.at(index, 0), (window, at, offsetBytes, bytes) => {
        if (kindAt(window, at) !== kinds.commit) {
          checksum = crc32(window.subarray(at, at + bytes), checksum)
          recordCount++
          return false
        }
        const commit = commitAt(window, at)
        const isLinked = start === segmentHeaderBytes || commit.previousEnd === grid.at(index, start)
        if (commit.checksum !== checksum || !isLinked) return true
        batchCount++
        start = offsetBytes + bytes
        checksum = 0
        return false
      })
      return start
    })
    const reached = position(grid.at(index, offset))
    const finding =
      reached < end ? damageAt(files, reached, end - reached, 'a batch does not verify', lost) : undefined
    return { batchCount, recordCount, finding }
  } catch (error) {
    if (!isDamage(error)) throw error
    return { batchCount, recordCount, finding: findingOf(error, files.placeOf(grid.at(index, 0)), lost) }
  } finally {
    await files.forget(index)
  }
}

/** Reports what two looks in a row see. */
async function confirmed(
  directory: QueueDirectory,
  report: Report,
  look: (directory: QueueDirectory, snapshot: Snapshot) => Promise<Finding[]>,
): Promise<void> {
  const first = await look(directory, await takeSnapshot(directory))
  if (first.length === 0) return
  const second = await look(directory, await takeSnapshot(directory))
  for (const finding of second) if (first.some((other) => isSame(finding, other))) report(finding)
}

/** What a start would refuse about lanes. */
async function laneTroubles(directory: QueueDirectory, { lanes }: Snapshot): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const name of await directory.disk.list(lanesDirectory))
    if (!/^[0-9]+$/.test(name))
      findings.push({
        log: `${lanesDirectory}/${name}`,
        bytes: 0,
        reason: 'this is no lane',
        lost: 'nothing, but the queue does not open',
      })
  for (const lane of lanes) {
    if (lane.inJournal) continue
    for (const [name, end] of logsOf(lane)) {
      const files = directory.log(name)
      for (const file of await directory.disk.list(`${lanesDirectory}/${name}`))
        if (segmentIndexOf(file) === undefined)
          findings.push({
            log: `${lanesDirectory}/${name}/${file}`,
            bytes: 0,
            reason: 'the file is no segment',
            lost: 'nothing, but the queue does not open',
          })
      const finding = await endTrouble(directory, files, name, end)
      if (finding !== undefined) findings.push(finding)
    }
  }
  return findings
}

const logsOf = ({ lane, end, dataEnd }: LaneView): [LogName, Position][] => [
  [`${lane}/envelopes`, end],
  [`${lane}/data`, dataEnd],
]

async function endTrouble(
  directory: QueueDirectory,
  files: SegmentFiles,
  name: LogName,
  end: Position,
): Promise<Finding | undefined> {
  const { grid } = files
  const index = grid.indexOf(end)
  const lost = 'mail of the lane, and the queue does not open'
  if (grid.offsetOf(end) <= segmentHeaderBytes) return undefined
  try {
    await files.with(index, () => Promise.resolve())
    const size = (await directory.size(`${lanesDirectory}/${name}/${segmentName(index)}`)) ?? 0
    return size < grid.offsetOf(end)
      ? damageAt(files, grid.at(index, size), grid.offsetOf(end) - size, 'the segment is cut short', lost)
      : undefined
  } catch (error) {
    if (!isDamage(error)) throw error
    return findingOf(error, files.placeOf(grid.at(index, 0)), lost)
  } finally {
    await files.forget(index)
  }
}

async function verifyMessages(
  directory: QueueDirectory,
  snapshot: Snapshot,
  report: Report,
  onProgress: (doneBytes: number, allBytes: number) => void,
): Promise<Pick<Verified, 'messageCount' | 'dataBytes' | 'leftoverCount' | 'idsCompared'>> {
  const messages = new Messages(directory, snapshot, { report, onProgress })
  const ids = new Set<string>()
  const spools = new Set<number>(snapshot.spoolsNamed)
  let messageCount = 0
  let dataBytes = 0
  for await (const batch of messages.batches())
    for (const message of batch) {
      const { envelope, log } = message
      messageCount++
      dataBytes += envelope.dataBytes
      if (envelope.data.kind === 'spool') spools.add(envelope.data.number)
      // Of one that damage made uncertain, two places are no contradiction.
      if (!message.uncertain && ids.size < idsMax) {
        if (ids.has(envelope.id)) report(twice(messages, message))
        ids.add(envelope.id)
      }
      try {
        await messages.content.recipients(message, 0, envelope.recipientCount)
        await messages.content.data(message)
      } catch (error) {
        if (!isDamage(error)) throw error
        const finding = findingOf(
          error,
          messages.content.log(log).placeOf(message.at),
          `message ${envelope.id} from ${envelope.sender}`,
        )
        if (await messages.presence.isThere(message.lane, message.at)) report(finding)
      }
    }
  const leftovers = (await directory.disk.list(spoolDirectory)).filter((name) => {
    const number = spoolNumberOf(name)
    return number !== undefined && !spools.has(number)
  })
  return { messageCount, dataBytes, leftoverCount: leftovers.length, idsCompared: messageCount <= idsMax }
}

const twice = ({ content }: Messages, { envelope, log, at }: QueuedMessage): Finding =>
  damageAt(
    content.log(log),
    at,
    0,
    `message ${envelope.id} is in the queue twice`,
    'nothing, but it may be delivered twice',
  )
