import { describe, expect, test } from 'vitest'
import type { SchedulerOptions } from '../../src/scheduler/scheduler.js'
import { World } from './world.js'

const site = 'a.test'

/** A world in which the destination has died and its rest is over. */
function afterOutage(options: SchedulerOptions): World {
  const world = new World({
    initialDestinationConcurrency: 4,
    defaultDestinationRecipientLimit: 2,
    ...options,
  })
  world.admit(['smtp', site, 8])
  for (const entry of world.fill()) world.report(entry, 'site')
  world.pass(300_000)
  return world
}

const underWay = (world: World): number => world.destination('smtp', site)!.busy

test('by default the whole initial concurrency meets a destination back from the dead', () => {
  const world = afterOutage({})
  world.admit(['smtp', site, 40])
  world.fill()
  expect(underWay(world)).toBe(4)
})

test('a canary goes alone to a destination back from the dead', () => {
  const world = afterOutage({ defaultDestinationCanary: true })
  world.admit(['smtp', site, 40])
  world.fill()
  expect(world.destination('smtp', site)).toMatchObject({ busy: 1, window: 1, recovery: 'canary' })
})

test('the window opens when the canary came back', () => {
  const world = afterOutage({ defaultDestinationCanary: true })
  world.admit(['smtp', site, 40])
  world.fill()
  world.report(world.underWay[0]!, 'ok')
  world.fill()
  expect(world.destination('smtp', site)).toMatchObject({ busy: 4, window: 4, recovery: 'none' })
})

test('a canary that does not come back leaves the destination dead, whatever the cohort limit', () => {
  const world = afterOutage({
    defaultDestinationCanary: true,
    defaultDestinationConcurrencyFailedCohortLimit: 2,
  })
  const letter = world.admit(['smtp', site, 40])
  world.fill()
  world.report(world.underWay[0]!, 'site')
  expect(world.destination('smtp', site)!.state.kind).toBe('dead')
  expect(letter.done).toBe(true)
})

test('a canary is remembered while nothing arrives, but not for ever', () => {
  const world = afterOutage({ defaultDestinationCanary: true, defaultDestinationRecoveryTime: 100 })
  world.pass(99_999)
  expect(world.destination('smtp', site)).toMatchObject({ recovery: 'canary' })
  world.pass(1)
  expect(world.destination('smtp', site)).toBeUndefined()
})

/** Three deliveries of the time before the outage hang still when the destination is back. */
function afterOutageWithThreeUnderWay(options: SchedulerOptions): World {
  const world = new World({
    initialDestinationConcurrency: 10,
    defaultDestinationRecipientLimit: 2,
    ...options,
  })
  world.admit(['smtp', site, 20])
  for (const entry of world.fill().slice(0, 7)) world.report(entry, 'site')
  world.pass(300_000)
  expect(world.destination('smtp', site)).toMatchObject({ busy: 3, window: 1 })
  return world
}

test.each([{ defaultDestinationCanary: true }, { defaultDestinationSlowStart: true }])(
  'a destination that is tried out beside deliveries from before its outage holds up no other: %o',
  (options) => {
    const world = afterOutageWithThreeUnderWay(options)
    world.admit(['smtp', 'b.test', 1])
    expect(world.fill().map(({ nexthop }) => nexthop)).toEqual(['b.test'])
  },
)

test('a canary beside more deliveries from before the outage than the initial concurrency opens the window to as many', () => {
  const world = new World({
    initialDestinationConcurrency: 2,
    defaultDestinationRecipientLimit: 2,
    defaultDestinationCanary: true,
  })
  world.admit(['smtp', site, 80])
  while (world.destination('smtp', site)!.window < 12) {
    world.fill()
    world.report(world.underWay[0]!, 'ok')
  }
  world.fill()
  while (world.destination('smtp', site)!.state.kind !== 'dead') world.report(world.underWay[0]!, 'site')
  const left = world.underWay.length
  expect(left).toBeGreaterThan(2)
  world.pass(300_000)
  world.report(world.underWay[0]!, 'ok')
  expect(world.destination('smtp', site)).toMatchObject({ busy: left - 1, window: left, recovery: 'none' })
  world.admit(['smtp', 'b.test', 1])
  expect(world.fill()).toHaveLength(1)
})

test('slow start raises the window by one per cohort up to the initial concurrency', () => {
  const world = afterOutage({ defaultDestinationSlowStart: true })
  world.admit(['smtp', site, 40])
  const windows = Array.from({ length: 7 }, () => {
    world.fill()
    world.report(world.underWay[0]!, 'ok')
    return world.destination('smtp', site)!.window
  })
  expect(windows).toEqual([2, 2, 3, 3, 3, 4, 5])
})

test('with both, slow start begins behind the canary', () => {
  const world = afterOutage({ defaultDestinationSlowStart: true, defaultDestinationCanary: true })
  world.admit(['smtp', site, 40])
  world.fill()
  expect(underWay(world)).toBe(1)
  world.report(world.underWay[0]!, 'ok')
  expect(world.destination('smtp', site)).toMatchObject({ window: 2, recovery: 'slow-start' })
})

test('a rate limit suspends the destination until its oldest start is one interval old', () => {
  const world = new World({ defaultDestinationRateLimit: 2, defaultDestinationRateInterval: 10 })
  world.admit(['smtp', site, 1])
  world.fill()
  world.pass(3000)
  world.admit(['smtp', site, 1])
  world.admit(['smtp', site, 1])
  expect(world.fill()).toHaveLength(1)
  expect(world.destination('smtp', site)).toMatchObject({
    state: { kind: 'suspended', untilMs: 10_000 },
    todo: 1,
    rate: 2,
  })
  world.pass(6999)
  expect(world.fill()).toHaveLength(0)
  world.pass(1)
  expect(world.fill()).toHaveLength(1)
})

test('a rate limit is remembered while the destination is idle', () => {
  const world = new World({ defaultDestinationRateLimit: 1, defaultDestinationRateInterval: 10 })
  world.admit(['smtp', site, 1])
  world.report(world.next()!, 'ok')
  world.admit(['smtp', site, 1])
  expect(world.next()).toBeUndefined()
  world.pass(10_000)
  expect(world.next()).toBeDefined()
})

test('a rate limit of one destination does not hold up another', () => {
  const world = new World({ defaultDestinationRateLimit: 1 })
  world.admit(['smtp', site, 120], ['smtp', 'b.test', 1])
  expect(world.fill().map(({ nexthop }) => nexthop)).toEqual([site, 'b.test'])
})

test('a rate delay lets one delivery through, then pauses', () => {
  const world = new World({ defaultDestinationRateDelay: 2 })
  world.admit(['smtp', site, 120])
  expect(world.fill()).toHaveLength(1)
  world.report(world.underWay[0]!, 'ok')
  expect(world.fill()).toHaveLength(0)
  world.pass(2000)
  expect(world.fill()).toHaveLength(1)
})

test('a rate delay counts from the end of a delivery, also where a rate limit has suspended the destination before', () => {
  const world = new World({
    defaultDestinationRateDelay: 30,
    defaultDestinationRateLimit: 1,
    defaultDestinationRateInterval: 10,
  })
  world.admit(['smtp', site, 120])
  world.fill()
  world.pass(1000)
  world.report(world.underWay[0]!, 'ok')
  expect(world.destination('smtp', site)!.state).toEqual({ kind: 'suspended', untilMs: 31_000 })
})

test('a suspended destination goes on at once when its user says so', () => {
  const world = new World({ defaultDestinationRateLimit: 1 })
  world.admit(['smtp', site, 120])
  world.fill()
  expect(world.scheduler.resume('smtp', site, world.nowMs)).toBe(true)
  expect(world.fill()).toHaveLength(1)
})

test('a destination that is resumed has its whole rate again', () => {
  const world = new World({ defaultDestinationRateLimit: 2 })
  world.admit(['smtp', site, 300])
  expect(world.fill()).toHaveLength(2)
  world.scheduler.resume('smtp', site, world.nowMs)
  expect(world.fill()).toHaveLength(2)
})

test('messages that were passed over while a destination was suspended go on when it is resumed', () => {
  const world = new World({ defaultDestinationRateLimit: 1 })
  const early = world.admit(['smtp', site, 120])
  world.admit(['smtp', 'b.test', 1])
  expect(world.fill()).toHaveLength(2)
  world.scheduler.resume('smtp', site, world.nowMs)
  expect(world.fill()).toMatchObject([{ message: early }])
})

test('a destination back from the dead still keeps its rate limit', () => {
  const world = new World({
    initialDestinationConcurrency: 1,
    minimalBackoffTime: 5,
    defaultDestinationRateLimit: 1,
    defaultDestinationRateInterval: 60,
  })
  world.admit(['smtp', site, 1])
  world.report(world.next()!, 'site')
  world.pass(5000)
  expect(world.destination('smtp', site)!.state).toEqual({ kind: 'suspended', untilMs: 60_000 })
})

test('a dead destination is revived at once when its user says so', () => {
  const world = new World({ initialDestinationConcurrency: 1 })
  world.admit(['smtp', 'A.test', 1])
  world.report(world.next()!, 'site')
  expect(world.scheduler.resume('smtp', 'A.test', world.nowMs)).toBe(true)
  expect(world.scheduler.wakeAtMs).toBe(Infinity)
  world.admit(['smtp', site, 1])
  expect(world.next()).toBeDefined()
})

test('there is nothing to resume at a destination that is ready or unknown', () => {
  const world = new World()
  world.admit(['smtp', site, 1])
  expect(world.scheduler.resume('smtp', site, 0)).toBe(false)
  expect(world.scheduler.resume('smtp', 'b.test', 0)).toBe(false)
})

/** One site that never answers to each name, with five entries; then one entry for another site. */
function worldOfHung(siteCount: number, options: SchedulerOptions): World {
  const world = new World({ defaultDestinationRecipientLimit: 2, ...options })
  for (let i = 0; i < siteCount; i++) world.admit(['smtp', `hung${i}.test`, 10])
  world.fill()
  world.admit(['smtp', site, 1])
  world.fill()
  return world
}

const sharing = { defaultProcessReserve: 20, defaultUnansweredProcessShare: 25 }

test('sites that never answer take all processes from the others, as in Postfix', () => {
  expect(worldOfHung(20, {}).destination('smtp', site)).toMatchObject({ busy: 0, todo: 1 })
})

test('with a reserve of processes 79 sites that never answer leave one to another', () => {
  const world = worldOfHung(79, sharing)
  expect(world.destination('smtp', site)).toMatchObject({ busy: 1, todo: 0 })
  expect(world.underWay).toHaveLength(100)
})

test('a site gets its window from its first answer on, also while many deliveries hang', () => {
  const world = worldOfHung(40, sharing)
  world.admit(['smtp', 'quick.test', 20])
  world.fill()
  expect(world.destination('smtp', 'quick.test')).toMatchObject({ busy: 1, todo: 9 })
  world.report(
    world.underWay.find(({ nexthop }) => nexthop === 'quick.test')!,
    'ok',
  )
  world.fill()
  expect(world.destination('smtp', 'quick.test')).toMatchObject({ busy: 6, todo: 3 })
})

test('the reserve takes the site that has been idle longest, and the order of the others stays', () => {
  const world = new World({ defaultProcessLimit: 20, defaultProcessReserve: 10 })
  for (let i = 0; i < 4; i++) world.admit(['smtp', `long${i}.test`, 250])
  world.fill()
  expect(world.underWay).toHaveLength(18)
  for (const name of ['b.test', 'c.test', 'd.test']) world.admit(['smtp', name, 1])
  expect(world.fill().map(({ nexthop }) => nexthop)).toEqual(['b.test', 'c.test'])
  world.report(world.underWay[0]!, 'ok')
  expect(world.fill().map(({ nexthop }) => nexthop)).toEqual(['d.test'])
})

test('a small process limit has no reserve', () => {
  const world = new World({ defaultProcessLimit: 19, ...sharing })
  for (const name of ['a.test', 'b.test', 'c.test', 'd.test']) world.admit(['smtp', name, 250])
  expect(world.fill()).toHaveLength(19)
})

describe('when memory is crowded', () => {
  const options: SchedulerOptions = {
    crowdedActiveCount: 100,
    qmgrMessageActiveLimit: 120,
    minimalBackoffTime: 10,
    defaultDestinationConcurrencyLimit: 2,
  }

  /** 110 messages for one site, which ends one delivery each second for ten seconds. */
  function slowSite(): World {
    const world = new World(options)
    for (let i = 0; i < 110; i++) world.admit(['smtp', site, 1])
    for (let second = 0; second < 10; second++) {
      world.fill()
      world.report(world.underWay[0]!, 'ok')
      world.pass(1000)
    }
    world.fill()
    return world
  }

  test('a site keeps what it can end until that would be tried again, and the last are put off', () => {
    const world = slowSite()
    const putOff = world.letters.filter(({ fate }) => fate[0] === 'deferred').map(({ id }) => id)
    expect(new Set(world.reasons.map(({ status }) => status))).toEqual(new Set(['4.4.5']))
    // Six had ended when the site had been watched for five seconds, and four ended behind that.
    expect(putOff).toEqual(['m105', 'm106', 'm107', 'm108', 'm109'])
    expect(world.scheduler.activeCount).toBe(95)
  })

  test('more mail for that site is put off at once, and mail for another goes', () => {
    const world = slowSite()
    const quick = ['q.test', 'r.test', 's.test', 't.test', 'u.test']
    for (const name of quick) world.admit(['smtp', name, 1])
    const more = world.admit(['smtp', site, 1])
    expect([more.fate, more.done]).toEqual([['deferred'], true])
    expect(world.fill().map(({ nexthop }) => nexthop)).toEqual(quick)
  })

  test('a site that takes all within that time keeps all', () => {
    const world = new World({ ...options, minimalBackoffTime: 300 })
    for (let i = 0; i < 110; i++) world.admit(['smtp', site, 1])
    for (let second = 0; second < 8; second++) {
      world.fill()
      world.report(world.underWay[0]!, 'ok')
      world.pass(1000)
    }
    expect(world.reasons).toEqual([])
  })

  test('nothing is put off before a site was watched for five seconds', () => {
    const world = new World(options)
    for (let i = 0; i < 110; i++) world.admit(['smtp', site, 1])
    world.fill()
    world.pass(0)
    for (let second = 0; second < 4; second++) world.pass(1000)
    expect(world.reasons).toEqual([])
    world.pass(1000)
    expect(world.reasons).not.toEqual([])
  })

  test('a dead site, for which nothing waits, is left alone, and when it lives again it gets mail', () => {
    const world = new World({ ...options, minimalBackoffTime: 300 })
    for (let i = 0; i < 3; i++) world.admit(['smtp', 'dead.test', 1])
    for (let i = 0; i < 3 && world.destination('smtp', 'dead.test')?.state.kind !== 'dead'; i++) {
      world.fill()
      while (world.underWay.length > 0) world.report(world.underWay[0]!, 'site')
    }
    expect(world.destination('smtp', 'dead.test')!.state.kind).toBe('dead')
    for (let i = 0; i < 110; i++) world.admit(['smtp', site, 1])
    world.fill()
    for (let second = 0; second < 20; second++) world.pass(1000)
    expect(world.scheduler.resume('smtp', 'dead.test', world.nowMs)).toBe(true)
    const more = world.admit(['smtp', 'dead.test', 1])
    expect(more.fate).toEqual(['waits'])
  })

  test('with room again a site may keep more', () => {
    const world = slowSite()
    const known = world.underWay.length
    for (let i = 0; i < 5; i++) {
      world.report(world.underWay[0]!, 'ok')
      world.fill()
    }
    const more = world.admit(['smtp', site, 1])
    expect([known, more.fate]).toEqual([2, ['waits']])
  })
})
