/** Two shortcuts spare the walks that the algorithm describes. Without them, in a copy of the
 * source, everything must be the same. */
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { Copies } from './copies.js'
import type { Damage } from './damages.js'
import { options, step, take } from './steps.js'
import type * as WorldModule from './world.js'
import { World } from './world.js'

const copies = new Copies()
afterAll(() => copies.remove())

const shortcuts: readonly Damage[] = [
  {
    rule: 'the floor of needed entries, which spares searches for a candidate',
    file: 'preemption.ts',
    find: 'slotsMax > 0 && !hopeless',
    replace: 'slotsMax > 0',
  },
  {
    rule: 'the sums of a transport, which spare a walk through its destinations',
    file: 'transport.ts',
    find: 'if (open < need) return false\n    if (open - deficit >= need) return true\n',
    replace: '',
  },
]

describe('nothing changes without', () => {
  test.each(shortcuts.map((damage) => [damage.rule, damage] as const))('%s', async (_, damage) => {
    const plain = await copies.load<typeof WorldModule>('test/scheduler/world.ts', damage)
    fc.assert(
      fc.property(options, fc.array(step, { maxLength: 120, size: 'max' }), (chosen, steps) => {
        const [ours, theirs] = [new World(chosen), new plain.World(chosen)]
        for (const world of [ours, theirs]) {
          for (const one of steps) take(world, one)
          world.finish()
        }
        expect(ours.starts).toEqual(theirs.starts)
      }),
      { numRuns: 500 },
    )
  })
})
