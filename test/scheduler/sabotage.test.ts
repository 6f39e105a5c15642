/** The recorded scenarios and the properties prove something only if a wrong rule fails them: each
 * rule is damaged here, one at a time, in a copy of the source, and must be noticed. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type * as ReplayModule from '../../tools/conformance-replay.js'
import { Copies } from './copies.js'
import { selectionDamages } from './damages.js'
import { memoryDamages, ownDamages } from './damages-of-limits.js'
import { limits, options, step, take } from './steps.js'
import type * as WorldModule from './world.js'

const copies = new Copies()
afterAll(() => copies.remove())

const tracesIn = fileURLToPath(new URL('../conformance/nqmgr', import.meta.url))
const traces = readdirSync(tracesIn).map(
  (file) => JSON.parse(gunzipSync(readFileSync(join(tracesIn, file))).toString()) as ReplayModule.Trace,
)

const fails = (run: () => unknown): boolean => {
  try {
    return run() !== undefined
  } catch {
    return true
  }
}

test('a copy without damage reproduces the recorded scenarios', async () => {
  const { replay } = await copies.load<typeof ReplayModule>('tools/conformance-replay.ts')
  expect(traces.filter((trace) => fails(() => replay(trace)))).toEqual([])
})

describe('the recorded scenarios notice a damaged rule:', () => {
  test.each([...selectionDamages, ...memoryDamages].map((damage) => [damage.rule, damage] as const))(
    '%s',
    async (_, damage) => {
      const { replay } = await copies.load<typeof ReplayModule>('tools/conformance-replay.ts', damage)
      expect(traces.some((trace) => fails(() => replay(trace)))).toBe(true)
    },
  )
})

describe('the properties notice a damaged rule:', () => {
  test.each(ownDamages.map((damage) => [damage.rule, damage] as const))('%s', async (_, damage) => {
    const { World } = await copies.load<typeof WorldModule>('test/scheduler/world.ts', damage)
    const run = fc.check(
      fc.property(
        options,
        limits,
        fc.array(step, { maxLength: 80, size: 'max' }),
        (chosen, shared, steps) => {
          const world = new World(chosen, shared)
          for (const one of steps) take(world, one)
          world.finish()
        },
      ),
      { numRuns: 3000, seed: 4, endOnFailure: true },
    )
    expect(run.failed).toBe(true)
  })
})
