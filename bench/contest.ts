/** Several contenders on one disk in one run.
 * Invariant: one contender runs at a time, each in its own process that lives through the whole
 * contest; in every round each has one slice, in a rotating order, so that other load on the
 * machine affects all alike. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { AskedProcess } from './asked-process.js'
import type { ContenderName } from './contenders/by-name.js'
import type { Answer, Order } from './contenders/child.js'
import type { Slice } from './contenders/contender.js'
import { spreadOf, type Row } from './output.js'

export interface ContestOptions {
  readonly directory: string
  readonly contenders: readonly ContenderName[]
  /** Ratios are to this one, of the same round. */
  readonly reference: ContenderName
  readonly producerCounts: readonly number[]
  readonly messageBytes: number
  readonly recipientCount: number
  readonly workload: 'Q' | 'R'
  /** Deferred messages that the engine holds before it begins. */
  readonly backlogCount: number
  /** Of every contender's process. */
  readonly environment: NodeJS.ProcessEnv
  readonly rounds: number
  readonly sliceMs: number
  /** Before the first round of each number of producers. */
  readonly warmUpMs: number
}

const defaults = {
  messageBytes: 1024,
  recipientCount: 1,
  workload: 'Q' as const,
  backlogCount: 0,
  environment: {},
  rounds: 15,
  sliceMs: 300,
  warmUpMs: 1000,
}

/** For a smoke run. */
export const shortContest: Pick<ContestOptions, 'rounds' | 'sliceMs' | 'warmUpMs'> = {
  rounds: 1,
  sliceMs: 50,
  warmUpMs: 50,
}

/** A row for each contender and number of producers. */
export async function contest(
  given: Pick<ContestOptions, 'directory' | 'contenders' | 'reference' | 'producerCounts'> &
    Partial<ContestOptions>,
): Promise<Row[]> {
  const options: ContestOptions = { ...defaults, ...given }
  const runners: Runner[] = []
  try {
    for (const name of options.contenders) runners.push(await Runner.start(name, options))
    const rows: Row[] = []
    for (const producerCount of options.producerCounts) {
      const slices = await rounds(runners, producerCount, options)
      for (const name of options.contenders) rows.push(rowOf(name, producerCount, slices, options))
    }
    for (const runner of runners) await runner.close()
    return rows
  } finally {
    for (const runner of runners) await runner.kill()
  }
}

/** The first messages of an empty directory: in every round each contender begins anew.
 * @param messageCount of each */
export async function youngContest(
  given: Pick<ContestOptions, 'directory' | 'contenders' | 'reference' | 'producerCounts'> &
    Partial<ContestOptions>,
  messageCount: number,
): Promise<Row[]> {
  const options: ContestOptions = { ...defaults, ...given }
  const { contenders: names, producerCounts, rounds: roundCount } = options
  const rows: Row[] = []
  for (const producerCount of producerCounts) {
    const slices = new Map(names.map((name) => [name, [] as Slice[]]))
    for (let round = 0; round < roundCount; round++)
      for (let i = 0; i < names.length; i++) {
        const runner = await Runner.start(names[(round + i) % names.length]!, options)
        try {
          slices.get(runner.name)!.push(await runner.slice(producerCount, Infinity, messageCount))
          await runner.close()
        } finally {
          await runner.kill()
        }
      }
    for (const name of names) rows.push(rowOf(name, producerCount, slices, options))
  }
  return rows
}

type Slices = ReadonlyMap<ContenderName, readonly Slice[]>

async function rounds(
  runners: readonly Runner[],
  producerCount: number,
  { rounds: roundCount, sliceMs, warmUpMs }: ContestOptions,
): Promise<Slices> {
  for (const runner of runners) await runner.slice(producerCount, warmUpMs)
  const slices = new Map(runners.map(({ name }) => [name, [] as Slice[]]))
  for (let round = 0; round < roundCount; round++)
    for (let i = 0; i < runners.length; i++) {
      const runner = runners[(round + i) % runners.length]!
      slices.get(runner.name)!.push(await runner.slice(producerCount, sliceMs))
    }
  return slices
}

const rateOf = ({ messageCount, durationMs }: Slice): number => (messageCount / durationMs) * 1000

function rowOf(
  name: ContenderName,
  producerCount: number,
  slices: Slices,
  { reference, recipientCount }: ContestOptions,
): Row {
  const own = slices.get(name)!
  const others = slices.get(reference)!
  const of = (quantity: (slice: Slice, round: number) => number): ReturnType<typeof spreadOf> =>
    spreadOf(own.map(quantity))
  return {
    contender: name,
    producers: producerCount,
    'messages/s': of(rateOf),
    [`of ${reference}`]: of((slice, round) => rateOf(slice) / rateOf(others[round]!)),
    'CPU µs/message': of((slice) => (slice.cpuMs * 1000) / slice.messageCount),
    'syncs/message': of((slice) => slice.syncCount / slice.messageCount),
    ...(recipientCount > 1 && {
      'syncs/recipient': of((slice) => slice.syncCount / slice.messageCount / recipientCount),
    }),
    'bytes/message': of((slice) => slice.writtenBytes / slice.messageCount),
    'device bytes/message': of((slice) => slice.deviceBytes / slice.messageCount),
    'p50 ms': of((slice) => slice.p50Ms),
    'p99 ms': of((slice) => slice.p99Ms),
  }
}

class Runner {
  readonly name: ContenderName
  readonly #process: AskedProcess<Order, Answer>

  private constructor(name: ContenderName, process: AskedProcess<Order, Answer>) {
    this.name = name
    this.#process = process
  }

  static async start(
    name: ContenderName,
    { directory, messageBytes, recipientCount, workload, backlogCount, environment }: ContestOptions,
  ): Promise<Runner> {
    const own = mkdtempSync(join(directory, `${name}-`))
    const module = new URL('./contenders/child.js', import.meta.url)
    const runner = new Runner(name, new AskedProcess(module, environment))
    const options = { directory: own, messageBytes, recipientCount, workload, backlogCount }
    await runner.#process.ask({ kind: 'open', name, options })
    return runner
  }

  async slice(producerCount: number, durationMs: number, messageCountMax?: number): Promise<Slice> {
    const answer = await this.#process.ask({ kind: 'slice', producerCount, durationMs, messageCountMax })
    if (answer.kind !== 'slice') throw new Error(`${this.name} gave no slice`)
    return answer.slice
  }

  async close(): Promise<void> {
    await this.#process.ask({ kind: 'close' })
  }

  kill(): Promise<void> {
    return this.#process.kill()
  }
}
