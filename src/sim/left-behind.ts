/** O7: what a drained queue may leave on the disk, by name: the segment in which the last checkpoint was captured, the one that is
 * written, the one prepared ahead, counted spares,
 * and nothing else. */
import type { DiskImage } from './disk-image.js'

const journalSegmentsMax = 3
const laneSegmentsMax = 2

/** What nobody needs, in words. @param spareCount spares that the queue counts */
export function leftBehind(image: DiskImage, spareCount: number): string[] {
  const counts = new Map<string, number>()
  const foreign: string[] = []
  for (const path of image.files()) {
    const group = groupOf(path)
    if (group === undefined) foreign.push(path)
    else counts.set(group, (counts.get(group) ?? 0) + 1)
  }
  const found = foreign.map((path) => `${path} is left behind`)
  for (const [group, count] of counts) {
    const most = group === 'spares' ? spareCount : group === 'journal' ? journalSegmentsMax : laneSegmentsMax
    if (count > most) found.push(`${count} files of ${group} are left, ${most} are needed`)
  }
  return found
}

function groupOf(path: string): string | undefined {
  if (path === 'lock' || path === 'queue.json') return path
  if (/^journal\/spare-[0-9]+$/.test(path)) return 'spares'
  if (/^journal\/[0-9a-f]{12}\.log$/.test(path)) return 'journal'
  return /^(lanes\/[0-9]+\/(?:envelopes|data))\/[0-9a-f]{12}\.log$/.exec(path)?.[1]
}
