/** Workload Q and its variations: whole lives of messages, of many producers. A producer submits a
 * message and waits until it is durable; a transport delivers at once; the outcome is recorded
 * durably; the message is finished. Beside *rawlog*, the ceiling of this runtime, and beside other
 * stores where they are installed. A slower disk is made by a library that is compiled here from
 * slow-sync.c. */
import type { BenchArguments } from './bench.js'
import { contest, shortContest, type ContestOptions } from './contest.js'
import type { ContenderName } from './contenders/by-name.js'
import { slowSync } from './disk/slow-sync.js'
import { installedStores } from './contenders/stores.js'

interface Variation {
  readonly title: string
  readonly options: Partial<ContestOptions>
}

const producerCounts = [1, 10, 100, 1000]

const variations = (slowSync: (ms: number) => NodeJS.ProcessEnv): readonly Variation[] => [
  { title: '1 KiB, one recipient', options: { producerCounts } },
  { title: '10 KiB', options: { messageBytes: 10_240 } },
  { title: '100 KiB', options: { messageBytes: 102_400 } },
  { title: '10 recipients', options: { recipientCount: 10 } },
  { title: '100 recipients', options: { recipientCount: 100 } },
  { title: 'every sync 1 ms slower', options: { producerCounts, environment: slowSync(1) } },
  { title: 'every sync 5 ms slower', options: { producerCounts, environment: slowSync(5) } },
  { title: 'the engine with 100 000 deferred messages', options: { backlogCount: 100_000 } },
]

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const { installed, missing } = await installedStores()
  const contenders: readonly ContenderName[] = ['rawlog', 'engine', 'files', ...installed]
  for (const { title, options } of variations((ms) => slowSync(directory, ms)))
    output.table(
      title,
      await contest({
        directory,
        contenders,
        reference: 'rawlog',
        producerCounts: [100],
        ...options,
        ...(smoke ? { ...shortContest, backlogCount: Math.min(options.backlogCount ?? 0, 1000) } : undefined),
      }),
    )
  output.note('Median (least–most) of the rounds; ratios are taken within a round.')
  for (const sentence of missing) output.note(sentence)
}
