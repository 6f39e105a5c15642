/** Runs seed after seed on all cores, a thread on each.
 * Invariant: without an error, the sum is that of all seeds from the first to the last one,
 * whatever thread ran which. A thread that dies ends the series with an error that names its
 * seed. */
import { Worker } from 'node:worker_threads'
import type { Finding, HuntResult } from '../../src/sim/hunt/exhaustive.js'
import { Tally } from '../../src/sim/hunt/tally.js'
import type { HuntedRun, ModeName } from './modes.js'

/** The order of the main thread, for each thread the same. */
export interface ThreadTask extends Pick<HuntedRun, 'disk'> {
  readonly mode: ModeName
  readonly from: number
  /** Infinity: until it is stopped. */
  readonly seedCount: number
  /** Seeds taken by all threads, and whether to stop. */
  readonly shared: Int32Array
  /** What the thread took last is written here before it is run, as the count of seeds taken before
   * it, plus one. 0: none yet. A message about it could be lost when the thread dies. */
  readonly taken: Int32Array
}

export const takenAt = 0
export const stopAt = 1

/** A seed that is done. */
export interface ThreadNews {
  readonly result: HuntResult
  readonly met: Readonly<Record<string, number>>
}

export interface SeriesOptions extends Pick<HuntedRun, 'disk'> {
  readonly mode: ModeName
  readonly from: number
  /** Infinity: until the signal. */
  readonly seedCount: number
  /** Threads at once. */
  readonly cores: number
  /** After this, seeds that were begun are finished and none is begun. */
  readonly signal: AbortSignal
  readonly onSeed: (sum: SeriesSum) => void
}

export class SeriesSum {
  seeds = 0
  crashes = 0
  /** Crashes that were recovered from: others left what had been tried already. */
  cycles = 0
  operations = 0
  recovered = 0
  duplicates = 0
  violations = 0
  /** The first of each failing seed. */
  readonly failing: Finding[] = []
  readonly met: Tally = new Tally()
  /** Processor time of all threads, seconds. */
  cpuSeconds = 0

  add({ result, met }: ThreadNews): void {
    this.seeds++
    this.crashes += result.crashCount
    this.cycles += result.crashCount - (result.sameCount ?? 0)
    this.operations += result.operationCount
    this.recovered += result.recoveredCount
    this.duplicates += result.duplicateCount
    this.violations += result.findings.length
    const [finding] = result.findings
    if (finding !== undefined) this.failing.push(finding)
    for (const [name, count] of Object.entries(met)) this.met.add(name, count)
  }
}

export async function series(options: SeriesOptions): Promise<SeriesSum> {
  const { mode, from, seedCount, cores, signal, disk, onSeed } = options
  const shared = new Int32Array(new SharedArrayBuffer(8))
  const task: Omit<ThreadTask, 'taken'> = {
    mode,
    from,
    seedCount,
    shared,
    ...(disk === undefined ? {} : { disk }),
  }
  const stop = (): void => void Atomics.store(shared, stopAt, 1)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  const sum = new SeriesSum()
  const before = process.cpuUsage()
  const threads = Array.from({ length: Math.min(cores, seedCount) }, () => new SeriesThread(task))
  try {
    const onDone = (done: ThreadNews): void => {
      sum.add(done)
      const { user, system } = process.cpuUsage(before)
      sum.cpuSeconds = (user + system) / 1e6
      onSeed(sum)
    }
    await Promise.all(threads.map((thread) => thread.run(onDone)))
  } finally {
    signal.removeEventListener('abort', stop)
    await Promise.all(threads.map((thread) => thread.end()))
  }
  // Threads end in any order: what is shown does not depend on it.
  sum.failing.sort((a, b) => a.seed - b.seed)
  return sum
}

/** Nearly everything dies with its life: a large young generation is seldom collected. */
const youngMiB = 64

class SeriesThread {
  readonly #worker: Worker
  readonly #from: number
  readonly #taken = new Int32Array(new SharedArrayBuffer(4))

  constructor(task: Omit<ThreadTask, 'taken'>) {
    this.#from = task.from
    this.#worker = new Worker(new URL('./series-thread.js', import.meta.url), {
      workerData: { ...task, taken: this.#taken } satisfies ThreadTask,
      resourceLimits: { maxYoungGenerationSizeMb: youngMiB },
    })
  }

  /** Resolves when no seed is left for it. @throws Error that names the seed in which it died */
  run(onDone: (done: ThreadNews) => void): Promise<void> {
    const where = (): string => {
      const taken = Atomics.load(this.#taken, 0)
      return taken === 0 ? 'before its first seed' : `in seed ${this.#from + taken - 1}`
    }
    return new Promise((resolve, reject) => {
      this.#worker.on('message', onDone)
      this.#worker.on('error', (error) =>
        reject(new Error(`a thread died ${where()}: ${error.message}`, { cause: error })),
      )
      this.#worker.on('exit', (code) => {
        if (code === 0) resolve()
        else reject(new Error(`a thread ended with ${code} ${where()}`))
      })
    })
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }
}
