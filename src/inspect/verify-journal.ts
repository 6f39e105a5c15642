/** Each batch of the journal that is still needed, and each link between two: checksums, order, and the length of the files.
 * What a running relay recycles meanwhile is not judged: damage is what two walks see. */
import { position } from '../base/position.js'
import { batchChecksum, commitAt } from '../log/commit-frame.js'
import { scanFrames } from '../log/segment-scan.js'
import { segmentHeaderBytes } from '../log/segment.js'
import { kindAt, kinds } from '../record/frame.js'
import { damageAt, findingOf, isDamage, isSame, type Finding, type Report } from './finding.js'
import type { QueueDirectory } from './queue-directory.js'
import { sizeTrouble } from './segment-trouble.js'
import { floorOf, takeSnapshot, type Snapshot } from './snapshot.js'

export interface JournalCounts {
  readonly batchCount: number
  readonly recordCount: number
}

/** Batches and links, from the first segment that is needed to the newest. */
export async function verifyJournal(
  directory: QueueDirectory,
  snapshot: Snapshot,
  report: Report,
): Promise<JournalCounts> {
  const { grid } = snapshot.journal.files
  let batchCount = 0
  let recordCount = 0
  for (const index of snapshot.journal.indexes) {
    if (index < grid.indexOf(floorOf(snapshot))) continue
    const walked = await walkNeeded(directory, snapshot, index)
    if (walked === undefined) continue
    batchCount += walked.batchCount
    recordCount += walked.recordCount
    const { finding } = walked
    const isKnown = snapshot.findings.some(
      ({ log, segment, offsetBytes }) =>
        log === finding?.log && segment === finding.segment && offsetBytes === finding.offsetBytes,
    )
    if (finding !== undefined && !isKnown) report(finding)
  }
  return { batchCount, recordCount }
}

/** Until two walks see the same. @returns undefined when the segment is not needed any more */
async function walkNeeded(
  directory: QueueDirectory,
  snapshot: Snapshot,
  index: number,
): Promise<Walked | undefined> {
  for (let last: Finding | undefined; ;) {
    const walked = await walkSegment(directory, snapshot, index)
    const { finding } = walked
    if (finding === undefined || (last !== undefined && isSame(last, finding))) return walked
    last = finding
    const now = await takeSnapshot(directory)
    if (index < now.journal.files.grid.indexOf(floorOf(now))) return undefined
  }
}

interface Walked extends JournalCounts {
  readonly finding: Finding | undefined
}

async function walkSegment(directory: QueueDirectory, { journal }: Snapshot, index: number): Promise<Walked> {
  const files = directory.log('journal')
  const { grid } = files
  let batchCount = 0
  let recordCount = 0
  const lost = 'what the batch says: mail accepted in it, or what happened to mail'
  try {
    const trouble = await sizeTrouble(files, index, lost)
    if (trouble !== undefined) return { batchCount, recordCount, finding: trouble }
    // What was prepared ahead has a header and no batch.
    const end =
      index > journal.newest
        ? grid.firstOf(index)
        : index === journal.newest
          ? journal.end
          : await journal.endOf(index)
    const offset = await files.with(index, async ({ file, seed, header }) => {
      let start = segmentHeaderBytes
      let checkpoint = 0
      const checksumWith = batchChecksum(header.version)
      let checksum = 0
      await scanFrames(file, seed, start, end - grid.at(index, 0), (window, at, offsetBytes, bytes) => {
        if (kindAt(window, at) !== kinds.commit) {
          checksum = checksumWith(checksum, window, at, bytes)
          if (kindAt(window, at) === kinds.checkpoint) checkpoint = offsetBytes
          recordCount++
          return false
        }
        const commit = commitAt(window, at)
        const isLinked = start === segmentHeaderBytes || commit.previousEnd === grid.at(index, start)
        const namesNewest = commit.checkpoint === 0 || commit.checkpoint === checkpoint
        if (commit.checksum !== checksum || !isLinked || !namesNewest) return true
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
