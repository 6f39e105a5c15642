/** Other parameters for a scheduler that is at work. */
import { expect, test } from 'vitest'
import { isWaybillError } from '../../src/errors.js'
import type { SchedulerOptions } from '../../src/scheduler/scheduler.js'
import { World } from './world.js'

const site = 'a.test'

const underWay = (world: World): number => world.destination('smtp', site)!.busy

test('a higher limit lets a full window grow, a lower one cuts it', () => {
  const world = new World({ initialDestinationConcurrency: 2, defaultDestinationConcurrencyLimit: 2 })
  for (let i = 0; i < 40; i++) world.admit(['smtp', site, 1])
  world.fill()
  expect(underWay(world)).toBe(2)
  world.reconfigure({ initialDestinationConcurrency: 2, defaultDestinationConcurrencyLimit: 4 })
  for (let i = 0; i < 6; i++) {
    world.report(world.underWay[0]!, 'ok')
    world.fill()
  }
  expect(underWay(world)).toBe(4)
  world.reconfigure({ defaultDestinationConcurrencyLimit: 1 })
  expect(world.destination('smtp', site)).toMatchObject({ window: 1, busy: 4 })
  for (let i = 0; i < 3; i++) {
    world.report(world.underWay[0]!, 'ok')
    world.fill()
  }
  expect(underWay(world)).toBe(1)
})

test('a higher process limit of one transport is in force at once, for jobs that were blocked, too', () => {
  const world = new World({ transports: { smtp: { processLimit: 1 } } })
  world.admit(['smtp', site, 1], ['smtp', 'b.test', 1])
  world.admit(['smtp', site, 1])
  world.fill()
  expect(world.underWay).toHaveLength(1)
  world.reconfigure({ transports: { smtp: { processLimit: 3 } } })
  world.fill()
  expect(world.underWay).toHaveLength(3)
})

test('a rate delay that comes makes the window 1; one that goes lets it open', () => {
  const world = new World({ initialDestinationConcurrency: 3 })
  for (let i = 0; i < 9; i++) world.admit(['smtp', site, 1])
  world.reconfigure({ defaultDestinationRateDelay: 10 })
  world.fill()
  expect(world.destination('smtp', site)).toMatchObject({ window: 1 })
  world.reconfigure({ initialDestinationConcurrency: 3 })
  world.report(world.underWay[0]!, 'ok')
  world.fill()
  expect(world.destination('smtp', site)!.window).toBeGreaterThan(1)
})

test('a destination that is dead stays so for as long as it was told', () => {
  const world = new World({ initialDestinationConcurrency: 1 })
  world.admit(['smtp', site, 1])
  for (const entry of world.fill()) world.report(entry, 'site')
  world.reconfigure({ minimalBackoffTime: 1, defaultDestinationConcurrencyLimit: 50 })
  expect(world.destination('smtp', site)).toMatchObject({ window: 0, state: { kind: 'dead' } })
  world.pass(299_000)
  expect(world.destination('smtp', site)).toMatchObject({ state: { kind: 'dead' } })
})

test.each<SchedulerOptions>([
  { defaultRecipientLimit: 7 },
  { transports: { smtp: { extraRecipientLimit: 7 } } },
  { defaultDeliverySlotCost: 7 },
  { qmgrMessageRecipientMinimum: 7 },
  { qmgrMessageActiveLimit: 7 },
  { retryTransport: 'retry' },
])('%j is fixed: nothing changes', (fixed) => {
  const world = new World({ defaultProcessLimit: 1 })
  for (let i = 0; i < 5; i++) world.admit(['smtp', `${i}.test`, 1])
  const change = (): void => world.reconfigure({ ...fixed, defaultProcessLimit: 5 })
  expect(change).toThrow(expect.toSatisfy((error) => isWaybillError(error, 'OPTION_INVALID')))
  world.fill()
  expect(world.underWay).toHaveLength(1)
})
