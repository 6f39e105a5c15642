/** O7: finds garbage in the directory of an empty queue.
 * Needed are the journal's current segment, the next one, counted spares, and of each lane's logs
 * the current segment and the one whose room is made ahead. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { QueueStatistics } from '../../src/index.js'

const journalSegmentsMax = 2
const laneSegmentsMax = 2

/** Right after a checkpoint of an empty queue. */
export function leftovers(directory: string, statistics: QueueStatistics): readonly string[] {
  const names = (path: string): readonly string[] => readdirSync(join(directory, path)).sort()
  const beyond = (path: string, found: readonly string[], most: number): readonly string[] =>
    found.length <= most ? [] : found.map((name) => `${path}/${name} (${found.length}, needed ${most})`)
  const journal = names('journal')
  const left = [
    ...beyond(
      'journal',
      journal.filter((name) => name.endsWith('.log')),
      journalSegmentsMax,
    ),
    ...beyond(
      'journal',
      journal.filter((name) => /^spare-\d+$/.test(name)),
      statistics.journal.spareCount,
    ),
    ...beyond('spool', names('spool'), 0),
  ]
  for (const lane of names('lanes'))
    for (const log of names(`lanes/${lane}`))
      left.push(...beyond(`lanes/${lane}/${log}`, names(`lanes/${lane}/${log}`), laneSegmentsMax))
  return left
}
