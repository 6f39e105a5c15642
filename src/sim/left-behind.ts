/** O7: what a drained queue may leave on the disk, by name: the segment that is written, the one prepared ahead, counted spares,
 * and nothing else. */
import type { DiskImage } from './disk-image.js'

const journalSegmentsMax = 2
const laneSegmentsMax = 2
/** The reserve of two, and four for bursts. */
const sparesMax = 6

/** What nobody needs, in words. */
export function leftBehind(image: DiskImage): string[] {
  const counts = new Map<string, number>()
  const foreign: string[] = []
  for (const path of image.files()) {
    const group = groupOf(path)
    if (group === undefined) foreign.push(path)
    else counts.set(group, (counts.get(group) ?? 0) + 1)
  }
  const found = foreign.map((path) => `${path} is left behind`)
  for (const [group, count] of counts) {
    const most = group === 'spares' ? sparesMax : group === 'journal' ? journalSegmentsMax : laneSegmentsMax
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
