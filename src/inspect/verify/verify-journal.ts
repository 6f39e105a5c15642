/** Checks each needed batch of the journal and each link between two: checksums, order, file
 * lengths.
 * Invariant: damage counts only if two walks see it, because a running relay recycles
 * segments meanwhile. */
import { position } from '../../base/position.js'
import { walkBatches, type BadBatches } from '../damage/batches.js'
import { damageAt, findingOf, isDamage, isSame, type Finding, type Report } from '../damage/finding.js'
import type { QueueDirectory } from '../queue/queue-directory.js'
import { sizeTrouble } from '../damage/segment-trouble.js'
import { floorOf, takeSnapshot, type Snapshot } from '../queue/snapshot.js'

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
    for (const finding of walked.findings) {
      // The batch says more than its first invalid frame.
      const isKnown = snapshot.findings.some(
        ({ log, segment, offsetBytes, bytes }) =>
          log === finding.log &&
          segment === finding.segment &&
          offsetBytes === finding.offsetBytes &&
          bytes >= finding.bytes,
      )
      if (!isKnown) report(finding)
    }
  }
  return { batchCount, recordCount }
}

/** Walks until two walks agree. @returns undefined if the segment is not needed any more */
async function walkNeeded(
  directory: QueueDirectory,
  snapshot: Snapshot,
  index: number,
): Promise<Walked | undefined> {
  for (let last: Walked | undefined; ;) {
    const walked = await walkSegment(directory, snapshot, index)
    if (walked.findings.length === 0 || isSeenAgain(walked.findings, last?.findings)) return walked
    last = walked
    const now = await takeSnapshot(directory)
    if (index < now.journal.files.grid.indexOf(floorOf(now))) return undefined
  }
}

const isSeenAgain = (now: readonly Finding[], before: readonly Finding[] | undefined): boolean =>
  now.length === before?.length && now.every((finding, i) => isSame(finding, before[i]!))

interface Walked extends JournalCounts {
  readonly findings: readonly Finding[]
}

async function walkSegment(directory: QueueDirectory, { journal }: Snapshot, index: number): Promise<Walked> {
  const files = directory.log('journal')
  const { grid } = files
  const base = grid.at(index, 0)
  const lost = 'the records of the batch: accepted mail, or outcomes'
  const findings: Finding[] = []
  try {
    const trouble = await sizeTrouble(files, index, lost)
    if (trouble !== undefined) findings.push(trouble)
    // A segment prepared ahead has a header and no batch.
    const end =
      index > journal.newest
        ? grid.firstOf(index)
        : index === journal.newest
          ? journal.end
          : await journal.endOf(index)
    const walked = await files.with(index, async (segment) =>
      walkBatches(segment, base, Math.min(end - base, await segment.file.size())),
    )
    for (const { from, to, ...count } of walked.bad)
      findings.push(damageAt(files, position(base + from), to - from, badText(count), lost))
    if (index < journal.newest && !(await journal.isEndNamed(index)))
      findings.push(damageAt(files, end, 0, endUnknown, 'perhaps batches behind this place'))
    return { ...walked, findings }
  } catch (error) {
    if (!isDamage(error)) throw error
    findings.push(findingOf(error, files.placeOf(base), lost))
    return { batchCount: 0, recordCount: 0, findings }
  } finally {
    await files.forget(index)
  }
}

const endUnknown = 'the end of the segment is unknown: the batch that named it does not verify'

function badText({ batchCountLeast, mayBeMore }: Pick<BadBatches, 'batchCountLeast' | 'mayBeMore'>): string {
  if (batchCountLeast === 1) return `a batch${mayBeMore ? ' or more' : ''} does not verify`
  return `${batchCountLeast} batches${mayBeMore ? ' or more' : ''} do not verify`
}
