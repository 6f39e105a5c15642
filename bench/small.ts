/** Small functions measured by tinybench, with many calls in a sample.
 * All are measured in turn, several times, so that other load affects them alike. */
import { Bench as TinyBench } from 'tinybench'
import { spreadOf, type Spread } from './output.js'

const rounds = 5
const timeMs = 40
const warmUpMs = 15
/** The least length of a sample, nanoseconds. */
const sampleNanoseconds = 100_000

/** The work of each case. Its result is kept, so that no compiler removes the work. */
export type Cases = Readonly<Record<string, () => unknown>>

/** Nanoseconds of one call, by the name of the case: the spread over rounds of the median of
 * each. */
export async function nanosecondsOf(cases: Cases): Promise<Readonly<Record<string, Spread>>> {
  const medians = new Map(Object.keys(cases).map((name) => [name, [] as number[]]))
  const callCounts = new Map(Object.entries(cases).map(([name, call]) => [name, callsPerSample(call)]))
  for (let round = 0; round < rounds; round++) {
    const bench = new TinyBench({ time: timeMs, warmupTime: warmUpMs })
    for (const [name, call] of Object.entries(cases)) bench.add(name, repeated(call, callCounts.get(name)!))
    for (const task of await bench.run()) {
      const { result } = task
      if (!('latency' in result)) throw new Error(`${task.name} was not measured: ${result.state}`)
      medians.get(task.name)!.push((result.latency.p50 * 1e6) / callCounts.get(task.name)!)
    }
  }
  return Object.fromEntries([...medians].map(([name, values]) => [name, spreadOf(values)]))
}

/** Results are stored where a compiler cannot know that nobody reads them. */
const sink: { last?: unknown } = {}

function repeated(call: () => unknown, count: number): () => void {
  return () => {
    for (let i = 0; i < count; i++) sink.last = call()
  }
}

/** Warms the function up on the way. */
function callsPerSample(call: () => unknown): number {
  for (let count = 16; ; count *= 2) {
    const startedAt = performance.now()
    for (let i = 0; i < count; i++) sink.last = call()
    if ((performance.now() - startedAt) * 1e6 >= sampleNanoseconds) return count
  }
}
