/** A series of seeds on threads: its sum, its end, and threads that die. Uses the build in dist/,
 * like `npm run crash`. */
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type { HuntResult } from '../../src/sim/hunt/exhaustive.js'
import { randomRun } from '../../src/sim/hunt/random-run.js'
import type * as Series from '../../tools/crash/series.js'

const file = fileURLToPath(new URL('../../dist/tools/crash/series.js', import.meta.url))
const { series } = (await import(pathToFileURL(file).href)) as typeof Series
const forever = new AbortController().signal
const usual = { mode: 'random', from: 1000, cores: 2, signal: forever, onSeed: () => {} } as const

test('a series on two threads has the sum of its seeds', async () => {
  const { failing, cpuSeconds, met: _, ...counts } = await series({ ...usual, seedCount: 3 })
  const alone: HuntResult[] = []
  for (const seed of [1000, 1001, 1002]) alone.push(await randomRun({ seed }))
  const sumOf = (count: (result: HuntResult) => number): number =>
    alone.reduce((sum, result) => sum + count(result), 0)
  const crashes = sumOf(({ crashCount }) => crashCount)
  expect(crashes).toBeGreaterThan(100)
  expect(counts).toEqual({
    seeds: 3,
    crashes,
    cycles: crashes,
    operations: sumOf(({ operationCount }) => operationCount),
    recovered: sumOf(({ recoveredCount }) => recoveredCount),
    duplicates: sumOf(({ duplicateCount }) => duplicateCount),
    violations: 0,
  })
  expect(failing).toEqual([])
  expect(cpuSeconds).toBeGreaterThan(0)
})

test('a series that is stopped finishes the seeds that were begun, and begins none', async () => {
  const ends = new AbortController()
  const seen: number[] = []
  const { seeds } = await series({
    ...usual,
    seedCount: Infinity,
    signal: ends.signal,
    onSeed: (sum) => {
      seen.push(sum.seeds)
      ends.abort()
    },
  })
  expect(seeds).toBe(seen.length)
  expect(seeds).toBeGreaterThan(0)
  // The other thread may have begun one more before it saw the end.
  expect(seeds).toBeLessThanOrEqual(3)
})

test('a thread that dies ends the series with an error that names its seed', async () => {
  const mode = 'no such mode' as Series.ThreadTask['mode']
  await expect(series({ ...usual, mode, from: 7, cores: 1, seedCount: 1 })).rejects.toThrow(
    /^a thread died in seed 7: /,
  )
})
