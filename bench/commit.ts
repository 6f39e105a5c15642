/** Measures group commit: durable submissions per second, and whole lives of messages, beside
 * minimal loops.
 * - `bare`: one synced write of as many messages as there are producers, and again: the disk's
 *   limit for submissions.
 * - `accept`: `openQueue(…).submit`, nothing is delivered. Its journal grows, so that new segments
 *   are zero-filled meanwhile.
 * - `rawlog`: three framed, checksummed records per life, group commit, no state: the limit for
 *   lives in this runtime.
 * - `engine`: submit, deliver at once, outcome durable, finished.
 * - `files`: one file per message. */
import type { BenchArguments } from './bench.js'
import { contest, shortContest } from './contest.js'

const producerCounts = [1, 10, 100, 1000]

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const submissions = await contest({
    directory,
    contenders: ['bare', 'accept'],
    reference: 'bare',
    producerCounts,
    ...(smoke ? shortContest : undefined),
  })
  output.table('durable submissions, 1 KiB', submissions)
  const lives = await contest({
    directory,
    contenders: ['rawlog', 'engine', 'files'],
    reference: 'rawlog',
    producerCounts,
    ...(smoke ? shortContest : undefined),
  })
  output.table('whole lives, 1 KiB, one recipient', lives)
  output.note('Median (least–most) of the rounds; ratios are taken within a round.')
}
