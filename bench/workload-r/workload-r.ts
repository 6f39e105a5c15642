/** Workload R, which is what embedders do: senders, and 5000 recipients in 500 domains.
 * A transport reads the data, checks them, and answers a turn of the event loop later. Beside
 * *rawlog* and other stores that do the same work for each message, with data held in memory.
 *   steady   behind some seconds of 100 producers
 *   young    the first messages of an empty directory, each time in a new process */
import { contest, shortContest, youngContest, type Variant } from '../contest.js'
import type { ContenderName } from '../contenders/by-name.js'
import { installedStores } from '../contenders/stores.js'
import type { BenchArguments } from '../bench.js'

const youngCount = 100_000

const besideItselfTitle = 'the engine beside itself, 100 producers'
const oneDestination = 'one destination'

/** @param backlogCount deferred messages of the last one */
function besideItself(backlogCount: number): readonly Variant[] {
  const variants = {
    [oneDestination]: { domainCount: 1 },
    '500 destinations': {},
    '500 destinations, a tenth deferred': { deferredOneIn: 10 },
    [`behind ${backlogCount} deferred`]: { backlogCount },
  }
  return Object.entries(variants).map(([label, options]) => ({ label, name: 'engine', options }))
}

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const { installed, missing } = await installedStores()
  const contenders: readonly ContenderName[] = ['rawlog', 'engine', ...installed]
  const common = { directory, contenders, reference: 'rawlog', workload: 'R' } as const
  const short = smoke ? shortContest : undefined
  output.table(
    'steady, 1 KiB, one recipient',
    await contest({ ...common, producerCounts: [1, 10, 100, 1000], ...short }),
  )
  for (const [producers, count] of [
    [1, youngCount / 10],
    [10, youngCount / 2],
    [100, youngCount],
    [1000, youngCount],
  ] as const)
    output.table(
      `young, the first ${count} messages, ${producers} producers`,
      await youngContest(
        { ...common, producerCounts: [producers], rounds: smoke ? 1 : 3 },
        smoke ? count / 100 : count,
      ),
    )
  for (const recipientCount of [10, 100])
    output.table(
      `steady, ${recipientCount} recipients`,
      await contest({ ...common, producerCounts: [100], recipientCount, ...short }),
    )
  output.table(
    besideItselfTitle,
    await contest({
      ...common,
      contenders: besideItself(smoke ? 1000 : 100_000),
      reference: oneDestination,
      producerCounts: [100],
      ...short,
    }),
  )
  output.note('Median (least–most) of the rounds; ratios are taken within a round.')
  for (const sentence of missing) output.note(sentence)
}
