/** Several contenders on one disk in one run.
 * Invariant: one contender runs at a time, each in its own process that lives through the whole
 * contest; in every round each has one slice, in a rotating order, so that other load on the
 * machine affects all alike. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { AskedProcess } from './asked-process.js'
import type { ContenderName } from './contenders/by-name.js'
import type { Answer, Order } from './contenders/child.js'
import { rateOf, type ContenderOptions, type Slice } from './contenders/contender.js'
import { domainCount } from './contenders/payloads.js'
import { spreadOf, type Row } from './output.js'

/** A contender with other options, beside the same one without. */
export interface Variant {
  readonly label: string
  readonly name: ContenderName
  readonly options: Partial<ContenderOptions>
}

export interface ContestOptions {
  readonly directory: string
  readonly contenders: readonly (ContenderName | Variant)[]
  /** Its name or label. Ratios are to this one, of the same round. */
  readonly reference: string
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
  /** Before the first round of each number of producers; three times as long before all of them. */
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

/** Every contender has run for a while before its first row: the engine's code is compiled within
 * 10 000 messages, and takes nearly twice the time until then; one producer would not get that far
 * in its warm-up. */
const producersOfWarmUp = 100
const lengthOfWarmUp = 3

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
    const variants = variantsOf(options)
    for (const variant of variants) runners.push(await Runner.start(variant, options))
    for (const runner of runners) await runner.slice(producersOfWarmUp, lengthOfWarmUp * options.warmUpMs)
    const rows: Row[] = []
    for (const producerCount of options.producerCounts) {
      const slices = await rounds(runners, producerCount, options)
      for (const { label } of variants) rows.push(rowOf(label, producerCount, slices, options))
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
  const { producerCounts, rounds: roundCount } = options
  const variants = variantsOf(options)
  const rows: Row[] = []
  for (const producerCount of producerCounts) {
    const slices = new Map(variants.map(({ label }) => [label, [] as Slice[]]))
    for (let round = 0; round < roundCount; round++)
      for (let i = 0; i < variants.length; i++) {
        const runner = await Runner.start(variants[(round + i) % variants.length]!, options)
        try {
          slices.get(runner.label)!.push(await runner.slice(producerCount, Infinity, messageCount))
          await runner.close()
        } finally {
          await runner.kill()
        }
      }
    for (const { label } of variants) rows.push(rowOf(label, producerCount, slices, options))
  }
  return rows
}

const variantsOf = ({ contenders }: ContestOptions): readonly Variant[] =>
  contenders.map((one) => (typeof one === 'string' ? { label: one, name: one, options: {} } : one))

/** By label. */
type Slices = ReadonlyMap<string, readonly Slice[]>

async function rounds(
  runners: readonly Runner[],
  producerCount: number,
  { rounds: roundCount, sliceMs, warmUpMs }: ContestOptions,
): Promise<Slices> {
  for (const runner of runners) await runner.slice(producerCount, warmUpMs)
  const slices = new Map(runners.map(({ label }) => [label, [] as Slice[]]))
  for (let round = 0; round < roundCount; round++)
    for (let i = 0; i < runners.length; i++) {
      const runner = runners[(round + i) % runners.length]!
      slices.get(runner.label)!.push(await runner.slice(producerCount, sliceMs))
    }
  return slices
}

function rowOf(
  label: string,
  producerCount: number,
  slices: Slices,
  { reference, recipientCount }: ContestOptions,
): Row {
  const own = slices.get(label)!
  const others = slices.get(reference)!
  const of = (quantity: (slice: Slice, round: number) => number): ReturnType<typeof spreadOf> =>
    spreadOf(own.map(quantity))
  return {
    contender: label,
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
  readonly label: string
  readonly #process: AskedProcess<Order, Answer>

  private constructor(label: string, process: AskedProcess<Order, Answer>) {
    this.label = label
    this.#process = process
  }

  static async start(
    { label, name, options: more }: Variant,
    { directory, messageBytes, recipientCount, workload, backlogCount, environment }: ContestOptions,
  ): Promise<Runner> {
    const own = mkdtempSync(join(directory, `${name}-`))
    const module = new URL('./contenders/child.js', import.meta.url)
    const runner = new Runner(label, new AskedProcess(module, environment))
    const common = { directory: own, messageBytes, recipientCount, workload, backlogCount }
    const options: ContenderOptions = { ...common, domainCount, deferredOneIn: 0, ...more }
    await runner.#process.ask({ kind: 'open', name, options })
    return runner
  }

  async slice(producerCount: number, durationMs: number, messageCountMax?: number): Promise<Slice> {
    const answer = await this.#process.ask({ kind: 'slice', producerCount, durationMs, messageCountMax })
    if (answer.kind !== 'slice') throw new Error(`${this.label} gave no slice`)
    return answer.slice
  }

  async close(): Promise<void> {
    await this.#process.ask({ kind: 'close' })
  }

  kill(): Promise<void> {
    return this.#process.kill()
  }
}
