import { expect, test } from 'vitest'
import { World } from './world.js'

const site = 'a.test'

/** Lets the delivery begin and end. */
const deliver = (world: World, result: 'ok' | 'site' | 'okreason' | 'crash' | 'defer'): void => {
  world.report(world.next()!, result)
}

test('a window grows by one per cohort with feedback 1/concurrency', () => {
  const world = new World({
    initialDestinationConcurrency: 2,
    defaultDestinationRecipientLimit: 2,
    defaultDestinationConcurrencyPositiveFeedback: '1/concurrency',
  })
  world.admit(['smtp', site, 40])
  const windows = [1, 2, 3, 4, 5].map(() => {
    world.fill()
    world.report(world.underWay[0]!, 'ok')
    return world.destination('smtp', site)!.window
  })
  expect(windows).toEqual([2, 3, 3, 3, 4])
})

test('one failure lowers a window at once, and the next within its cohort does not', () => {
  const world = new World({
    defaultDestinationConcurrencyNegativeFeedback: '0.5',
    defaultDestinationConcurrencyFailedCohortLimit: 0,
    defaultDestinationRecipientLimit: 2,
  })
  world.admit(['smtp', site, 40])
  const windows = [1, 2, 3].map(() => {
    deliver(world, 'site')
    return world.destination('smtp', site)!.window
  })
  expect(windows).toEqual([4, 4, 3])
})

test('the shipped rounding takes two off at the first failure', () => {
  const world = new World({ feedbackRounding: true, defaultDestinationConcurrencyFailedCohortLimit: 0 })
  world.admit(['smtp', site, 200])
  deliver(world, 'site')
  expect(world.destination('smtp', site)!.window).toBe(3)
})

test('a destination dies after a failed cohort, and what waits for it is deferred with the reason', () => {
  const world = new World({ initialDestinationConcurrency: 1 })
  const letter = world.admit(['smtp', site, 60])
  deliver(world, 'site')
  expect(letter.fate.filter((fate) => fate === 'deferred')).toHaveLength(10)
  expect(world.reasons).toEqual([{ status: '4.4.1', text: 'delivery temporarily suspended: no route' }])
  expect(world.destination('smtp', site)!.state).toMatchObject({ kind: 'dead', untilMs: 300_000 })
})

test('mail for a dead destination is deferred when it comes, without an attempt', () => {
  const world = new World({ initialDestinationConcurrency: 1 })
  world.admit(['smtp', site, 1])
  deliver(world, 'site')
  const late = world.admit(['smtp', site, 1])
  expect(late.done).toBe(true)
  expect(late.fate).toEqual(['deferred'])
})

test('a dead destination is tried again after the minimal backoff time', () => {
  const world = new World({ initialDestinationConcurrency: 1, minimalBackoffTime: 7 })
  world.admit(['smtp', site, 1])
  deliver(world, 'site')
  expect(world.scheduler.wakeAtMs).toBe(7000)
  world.pass(6999)
  expect(world.destination('smtp', site)!.state.kind).toBe('dead')
  world.pass(1)
  world.admit(['smtp', site, 1])
  expect(world.next()).toBeDefined()
})

test('a crash is neutral, unless the answer before it saw trouble of its site', () => {
  const world = new World({ defaultDestinationConcurrencyFailedCohortLimit: 0 })
  world.admit(['smtp', site, 200])
  deliver(world, 'crash')
  expect(world.destination('smtp', site)!.window).toBe(5)
  deliver(world, 'okreason')
  deliver(world, 'crash')
  expect(world.destination('smtp', site)!.window).toBe(4)
})

test('a window below what is under way holds up its transport until that comes back', () => {
  const world = new World({ feedbackRounding: true, defaultDestinationConcurrencyFailedCohortLimit: 0 })
  world.admit(['smtp', site, 400])
  world.fill()
  world.report(world.underWay[0]!, 'site')
  expect(world.destination('smtp', site)).toMatchObject({ window: 3, busy: 4 })
  world.admit(['smtp', 'b.test', 1])
  expect(world.next()).toBeUndefined()
  world.admit(['smtp', 'c.test', 1])
  expect(world.next()).toMatchObject({ nexthop: 'b.test' })
})

test('feedback is traced when asked for', () => {
  const world = new World({
    initialDestinationConcurrency: 2,
    defaultDestinationRecipientLimit: 2,
    destinationConcurrencyFeedbackDebug: true,
  })
  world.admit(['smtp', site, 40])
  deliver(world, 'ok')
  deliver(world, 'site')
  deliver(world, 'site')
  deliver(world, 'site')
  world.pass(300_000)
  expect(world.events.map(({ kind, feedback, window }) => [kind, feedback, window])).toEqual([
    ['positive', 1, 3],
    ['negative', -1, 2],
    ['negative', -1, 1],
    ['dead', 0, 0],
    ['revived', 0, 2],
  ])
  expect(world.events[0]).toMatchObject({ transport: 'smtp', name: site, limit: 20, failCohorts: 0 })
})

test('feedback is not traced by default', () => {
  const world = new World()
  world.admit(['smtp', site, 1])
  deliver(world, 'ok')
  expect(world.events).toEqual([])
})

test('a dead transport defers what waits for it and rests', () => {
  const world = new World()
  const letter = world.admit(['smtp', site, 60], ['lmtp', site, 3])
  world.fail('smtp')
  expect(letter.fate.filter((fate) => fate === 'deferred')).toHaveLength(60)
  expect(world.next()).toMatchObject({ transport: 'lmtp' })
  expect(world.admit(['smtp', site, 1]).fate).toEqual(['deferred'])
  world.pass(60_000)
  world.admit(['smtp', site, 1])
  expect(world.next()).toMatchObject({ transport: 'smtp' })
})

test('a dead transport is back at once when its user says so', () => {
  const world = new World()
  world.fail('smtp')
  expect(world.scheduler.resumeTransport('smtp', 0)).toBe(true)
  expect(world.scheduler.resumeTransport('smtp', 0)).toBe(false)
  world.admit(['smtp', site, 1])
  expect(world.next()).toBeDefined()
  expect(world.scheduler.wakeAtMs).toBe(Infinity)
})
