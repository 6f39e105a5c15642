/** O7: the files that an empty queue may leave on the disk.
 * They are the segment with the capture of the last checkpoint, the current one, the next one, and
 * counted spares. */
import type { DiskImage } from '../disk/disk-image.js'
import type { Violation } from './violation.js'

const journalSegmentsMax = 3
const laneSegmentsMax = 2

/** Names the other files. @param spareCount spares that the queue counts
 * @param isOwedOutcomes a consumer holds files of outcomes */
export function leftBehind(image: DiskImage, spareCount: number, isOwedOutcomes: boolean): string[] {
  const counts = new Map<string, number>()
  const foreign: string[] = []
  for (const path of image.files()) {
    const group = groupOf(path)
    if (group === undefined) foreign.push(path)
    else if (group === 'outcomes' && isOwedOutcomes) continue
    else counts.set(group, (counts.get(group) ?? 0) + 1)
  }
  const found = foreign.map(oneLeft)
  for (const [group, count] of counts) {
    const most = group === 'spares' ? spareCount : group === 'journal' ? journalSegmentsMax : laneSegmentsMax
    if (count > most) found.push(`${count} files of ${group} are left, ${most} are needed`)
  }
  return found
}

const oneLeft = (path: string): string => `${path} is left behind`

/** Spool files that were unlinked and harmlessly return after a power loss: the sync of their
 * directory failed, and the kernel calls it clean. */
export function mayComeBack(image: DiskImage): ReadonlySet<string> {
  const spool = image.find('spool')
  if (spool?.kind !== 'directory') return new Set()
  const gone = spool.pending.filter(({ clean, node }) => clean && node === undefined)
  return new Set(gone.map(({ name }) => oneLeft(`spool/${name}`)))
}

/** @param mayBeLeft of `mayComeBack` */
export const isOfOneLeft = ({ oracle, text }: Violation, mayBeLeft: ReadonlySet<string>): boolean =>
  oracle === 'O7' && mayBeLeft.has(text)

function groupOf(path: string): string | undefined {
  if (path === 'lock' || path === 'queue.json' || path === 'journal/limit') return path
  if (/^journal\/spare-[0-9]+$/.test(path)) return 'spares'
  if (/^journal\/[0-9a-f]{12}\.log$/.test(path)) return 'journal'
  if (/^(?:keys|outcomes)\/[0-9a-f]{12}\.log$/.test(path)) return path.slice(0, path.indexOf('/'))
  return /^(lanes\/[0-9]+\/(?:envelopes|data))\/[0-9a-f]{12}\.log$/.exec(path)?.[1]
}
