import fc from 'fast-check'
import { expect, test } from 'vitest'
import { limits, nexthop, options, step, take } from './steps.js'
import { World } from './world.js'

const runs = Number(process.env['WAYBILL_RUNS'] ?? 1500)

test('whatever happens, limits hold, every recipient comes out once, and no message is left behind', () => {
  fc.assert(
    fc.property(options, limits, fc.array(step, { maxLength: 80, size: 'max' }), (chosen, shared, steps) => {
      const world = new World(chosen, shared)
      for (const one of steps) take(world, one)
      world.finish()
      expect(world.scheduler.activeCount).toBe(0)
    }),
    { numRuns: runs },
  )
})

test('a rate limit holds in every interval', () => {
  const limit = 3
  const intervalMs = 10_000
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      const world = new World({
        defaultDestinationRateLimit: limit,
        defaultDestinationRateInterval: intervalMs / 1000,
      })
      for (const one of steps) take(world, one)
      world.finish()
      for (const name of new Set(world.starts.map((start) => start.name))) {
        const atMs = world.starts.filter((start) => start.name === name).map((start) => start.atMs)
        const gapsMs = atMs.slice(limit).map((ms, i) => ms - atMs[i]!)
        expect(Math.min(Infinity, ...gapsMs)).toBeGreaterThanOrEqual(intervalMs)
      }
    }),
    { numRuns: 300 },
  )
})

test('without preemption a destination gets single-recipient mail in the order in which it came', () => {
  const single = fc.record({
    kind: fc.constant('admit' as const),
    groups: fc.tuple(fc.tuple(fc.constant('ta'), nexthop, fc.constant(1))),
  })
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          single,
          single,
          step.filter(({ kind }) => kind !== 'admit' && kind !== 'putOff' && kind !== 'limit'),
        ),
        { maxLength: 100, size: 'max' },
      ),
      (steps) => {
        const world = new World({ defaultDeliverySlotCost: 0, defaultProcessLimit: 3 })
        for (const one of steps) take(world, one)
        world.finish()
        for (const name of new Set(world.starts.map((start) => start.name))) {
          const order = world.starts
            .filter((start) => start.name === name)
            .map(({ letter }) => Number(letter.slice(1)))
          expect(order).toEqual(order.toSorted((a, b) => a - b))
        }
      },
    ),
    { numRuns: 500 },
  )
})

test('the same calls give the same selections', () => {
  fc.assert(
    fc.property(options, fc.array(step, { maxLength: 60, size: 'max' }), (chosen, steps) => {
      const [one, other] = [new World(chosen), new World(chosen)]
      for (const world of [one, other]) {
        for (const each of steps) take(world, each)
        world.finish()
      }
      expect(one.starts).toEqual(other.starts)
    }),
    { numRuns: 200 },
  )
})
