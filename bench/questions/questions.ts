/** The questions that the post on log-structured queues leaves open, each by measurement.
 * src/LOG_STRUCTURED.md draws the conclusions. */
import type { BenchArguments } from '../bench.js'
import { measureIntervals } from './intervals.js'
import { measurePlaces } from './places.js'
import { measureMinutes, measureRunners } from './runners.js'
import { measureSharing } from './sharing.js'

export async function run(args: BenchArguments): Promise<void> {
  await measureIntervals(args)
  await measurePlaces(args)
  await measureRunners(args)
  await measureMinutes(args)
  await measureSharing(args)
  args.output.note('More about one log or several: `npm run bench -- layouts`.')
}
