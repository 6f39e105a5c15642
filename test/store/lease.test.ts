/** An owner's beats, and a claim, on a store that answers as a test says. */
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { prngAt } from '../../src/base/prng.js'
import { WaybillError } from '../../src/errors.js'
import { Lease, type LeaseOptions } from '../../src/store/lease.js'
import { newStatistics } from '../../src/store/statistics.js'
import { done, fenced, type Answer, type Session } from '../../src/store/store.js'
import { claimQueue } from '../../src/store/take.js'

const row = { queue: 1, name: 'q', home: 'n1', quotaBytes: 1 }
const nobody = {
  epoch: 1,
  nonce: undefined,
  node: undefined,
  address: undefined,
  beat: 0,
  isConnected: false,
}

/** @param answers in place of those of a store in which all goes well */
function options(answers: Partial<Session>): LeaseOptions {
  let epoch = 1
  const session = {
    timeline: 1,
    queueNamed: () => Promise.resolve(done(row)),
    present: () => Promise.resolve(done(undefined)),
    standing: () => Promise.resolve(done({ ...nobody, epoch })),
    claim: () => Promise.resolve(done(++epoch)),
    beat: () => Promise.resolve(done(undefined)),
    close: () => undefined,
    ...answers,
  } as unknown as Session
  return {
    queue: 'q',
    node: 'n1',
    role: 'home',
    ownedCount: 0,
    safety: 'assumed',
    ttlMs: 1200,
    beatMs: 300,
    proofMs: 900,
    resumeMs: 1000,
    safetyMs: 60_000,
    store: { name: 'store', newNonce: () => 'life', connect: () => Promise.resolve(done(session)) },
    clock: systemClock,
    prng: prngAt(1, 1, 1),
    statistics: newStatistics(),
    onEvent: () => undefined,
  }
}

test('garbage is removed until none is left, not a part of it with each beat', async () => {
  const asked: string[] = []
  let left = 5
  const reap = (): Promise<Answer<number>> => {
    asked.push('reap')
    return Promise.resolve(done(--left))
  }
  const beat = (): Promise<Answer<void>> => {
    asked.push('beat')
    return Promise.resolve(done(undefined))
  }
  const ended = (): void => undefined
  const lease = await Lease.take(options({ reap, beat }), ended, () => (left > 0 ? [] : undefined))
  onTestFinished(() => lease.abandon(new WaybillError('QUEUE_CRASHED', 'the end of the test')))
  await expect.poll(() => left).toBe(0)
  expect(asked.slice(0, 6)).toEqual(['beat', 'reap', 'reap', 'reap', 'reap', 'reap'])
})

test('what cannot be removed waits for the next beat', async () => {
  const asked: string[] = []
  const reap = (): Promise<Answer<number>> => {
    asked.push('reap')
    return Promise.resolve(done(7))
  }
  const beat = (): Promise<Answer<void>> => {
    asked.push('beat')
    return Promise.resolve(done(undefined))
  }
  const lease = await Lease.take(
    options({ reap, beat }),
    () => undefined,
    () => [],
  )
  onTestFinished(() => lease.abandon(new WaybillError('QUEUE_CRASHED', 'the end of the test')))
  await expect.poll(() => asked.length).toBeGreaterThan(6)
  // The second one finds that nothing was gained.
  expect(asked.slice(0, 6)).toEqual(['beat', 'reap', 'reap', 'beat', 'reap', 'reap'])
})

test('a queue that is removed while it is waited for is not waited for any more', async () => {
  let isThere = true
  const claim = (): Promise<Answer<number>> => {
    isThere = false
    return Promise.resolve(fenced)
  }
  const queueNamed = (): Promise<Answer<typeof row | undefined>> =>
    Promise.resolve(done(isThere ? row : undefined))
  await expect(claimQueue(options({ claim, queueNamed }))).rejects.toMatchObject({ code: 'NOT_A_QUEUE' })
})
