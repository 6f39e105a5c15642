/** An owner's beats, and a claim, on a store that answers as a test says. */
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { prngAt } from '../../src/base/prng.js'
import { WaybillError } from '../../src/errors.js'
import { Lease, type LeaseOptions, type LeaseQuestions, type Trouble } from '../../src/store/lease.js'
import { pgAnswer } from '../../src/store/postgres/pg-connection.js'
import { loadPg } from '../../src/store/postgres/pg-package.js'
import { newStatistics, type StoreEvent } from '../../src/store/statistics.js'
import { done, fenced, refused, unknown, type Answer, type Session } from '../../src/store/store.js'
import { claimQueue } from '../../src/store/claim.js'

const row = { queue: 1, name: 'q', home: 'n1', quotaBytes: 1 }
const nobody = {
  epoch: 1,
  nonce: undefined,
  node: undefined,
  address: undefined,
  beat: 0,
  isConnected: false,
}

const facts = { versionNumber: 150_000, settings: {}, standbyCount: 1, subscribers: [] }

const questions: LeaseQuestions = {
  garbage: () => undefined,
  onUnreaped: () => undefined,
  isKept: () => Promise.resolve(done(true)),
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
    resume: () => Promise.resolve(done(++epoch)),
    beat: () => Promise.resolve(done(undefined)),
    safety: () => Promise.resolve(done(facts)),
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
  const lease = await Lease.take(options({ reap, beat }), ended, {
    ...questions,
    garbage: () => (left > 0 ? [] : undefined),
  })
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
  const ended = (): void => undefined
  const lease = await Lease.take(options({ reap, beat }), ended, { ...questions, garbage: () => [] })
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

/** How a life ends whose store is another one when it resumes. Epoch 2, and two beats are answered.
 * @param answers of the store behind the interruption */
async function endOf(
  answers: { readonly epoch: number; readonly beat: number; readonly isAnothers?: boolean },
  isKept = true,
): Promise<string | undefined> {
  let beats = 0
  let now: typeof answers = { epoch: 2, beat: 0 }
  let ending: WaybillError | undefined
  const beat = (): Promise<Answer<void>> => {
    if (++beats < 3) return Promise.resolve(done(undefined))
    now = beats === 3 ? answers : now
    return Promise.resolve(
      beats === 3 ? unknown(new WaybillError('STORE_UNREACHABLE', 'away')) : done(undefined),
    )
  }
  const lease = await Lease.take(
    {
      ...options({
        beat,
        standing: () => Promise.resolve(done({ ...nobody, ...now })),
        resume: () => Promise.resolve(now.isAnothers === true ? fenced : done(now.epoch)),
      }),
      beatMs: 10,
    },
    (error) => (ending = error),
    { ...questions, isKept: () => Promise.resolve(done(isKept)) },
  )
  onTestFinished(() => lease.abandon(new WaybillError('QUEUE_CRASHED', 'the end of the test')))
  await expect.poll(() => beats > 4 || ending !== undefined).toBe(true)
  return ending?.code
}

test('a life resumes on a store that has all that it has answered', async () => {
  expect(await endOf({ epoch: 3, beat: 2 })).toBeUndefined()
})

test('a life ends when the store lacks the newest changes that it has answered', async () => {
  expect(await endOf({ epoch: 3, beat: 2 }, false)).toBe('STORE_BEHIND')
})

test('a life ends on a store whose beat or epoch was greater before', async () => {
  expect(await endOf({ epoch: 3, beat: 1 })).toBe('STORE_BEHIND')
  expect(await endOf({ epoch: 2, beat: 2 })).toBe('STORE_BEHIND')
})

test('a life whose claim the store lacks ends because the store went back, not because of another owner', async () => {
  expect(await endOf({ epoch: 1, beat: 2, isAnothers: true })).toBe('STORE_BEHIND')
  expect(await endOf({ epoch: 3, beat: 2, isAnothers: true })).toBe('QUEUE_LOST')
})

test('all connections are to one server, where one that was replaced goes on', async () => {
  // The claim, three more, and the same when it resumes.
  const timelines = [1, 2, 2, 1, 1, 2, 1, 1]
  const given = options({})
  const connect = async (nonce: string): Promise<Answer<Session>> => {
    const answer = await given.store.connect(nonce)
    return answer.kind === 'done' ? done({ ...answer.value, timeline: timelines.shift() ?? 2 }) : answer
  }
  const lease = await Lease.take({ ...given, store: { ...given.store, connect } }, () => undefined, questions)
  onTestFinished(() => lease.abandon(new WaybillError('QUEUE_CRASHED', 'the end of the test')))
  const { beat, journal, names, reads } = await lease.tenure()
  expect([beat, journal, names, reads].map(({ timeline }) => timeline)).toEqual([2, 2, 2, 2])
  expect(timelines).toEqual([])
})

const away = (message: string): Answer<never> => unknown(new WaybillError('STORE_UNREACHABLE', message))
const full = refused({ kind: 'errno', errno: 'ENOSPC' })

/** A life that begins on such a store, and what was said of it. */
async function lived(
  changes: Partial<LeaseOptions>,
  given: Partial<LeaseQuestions> = {},
): Promise<{ lease: Lease; ending: () => string | undefined; events: StoreEvent[] }> {
  const events: StoreEvent[] = []
  let ending: string | undefined
  const lease = await Lease.take(
    { ...options({}), onEvent: (event) => events.push(event), ...changes },
    (error) => (ending = `${error.code} ${error.message}`),
    { ...questions, ...given },
  )
  onTestFinished(() => lease.abandon(new WaybillError('QUEUE_CRASHED', 'the end of the test')))
  return { lease, ending: () => ending, events }
}

test('a change that no tenure answers ends the life, with its reason', async () => {
  const { lease, events } = await lived({ resumeMs: 100 })
  const trouble: Trouble = {}
  const asked = async (): Promise<never> => {
    for (;;) await lease.again(await lease.tenure(), trouble, away('could not read block 7'))
  }
  await expect(asked()).rejects.toMatchObject({
    code: 'STORE_UNREACHABLE',
    message: expect.stringContaining(
      'the store takes connections, and has not answered one question for 0 s: could not read block 7',
    ) as string,
  })
  expect(events.slice(0, 2)).toEqual([
    { kind: 'interrupted', reason: 'could not read block 7' },
    { kind: 'resumed', epoch: 3 },
  ])
  // Asked twice, and then once a second.
  expect(events.filter(({ kind }) => kind === 'resumed').length).toBeLessThan(4)
})

test('a read that no tenure answers is asked for as long as that takes: a table may be locked', async () => {
  const { lease, ending } = await lived({ resumeMs: 100, beatMs: 60_000 })
  let count = 0
  const answer = await lease.ask(() => Promise.resolve(++count < 4 ? away('no answer') : done(count)))
  expect(answer).toEqual(done(4))
  expect(ending()).toBeUndefined()
})

test('a fault of the disk is the answer to a read, and to a change none', async () => {
  const { DatabaseError } = await loadPg()
  const error = Object.assign(new DatabaseError('could not read block 7', 0, 'error'), { code: '58030' })
  expect(pgAnswer(error, true)).toMatchObject({
    kind: 'refused',
    refusal: { error: { code: 'DISK_FAILED' } },
  })
  expect(pgAnswer(error)).toMatchObject({ kind: 'unknown' })
})

test('a beat that the store refuses ends the life', async () => {
  const { ending } = await lived({ ...options({ beat: () => Promise.resolve(full) }), beatMs: 10 })
  await expect.poll(ending).toContain("no room on a disk of the store's server")
})

test('a resume that a full disk refuses ends the life, and says so', async () => {
  const { lease, ending } = await lived(options({ resume: () => Promise.resolve(full) }))
  await expect(lease.ask(() => Promise.resolve(away('gone')))).rejects.toMatchObject({ code: 'DISK_FULL' })
  expect(ending()).toContain("no room on a disk of the store's server")
})

test('garbage that cannot be removed for want of room is told once, and ends no tenure', async () => {
  let reaps = 0
  const events: StoreEvent[] = []
  const reap = (): Promise<Answer<number>> => {
    reaps++
    return Promise.resolve(full)
  }
  await lived(
    { ...options({ reap }), beatMs: 10, onEvent: (event) => events.push(event) },
    { garbage: () => [] },
  )
  await expect.poll(() => reaps).toBeGreaterThan(3)
  expect(events.map(({ kind }) => kind)).toEqual(['unreaped'])
})

test('a life that gets too few connections ends with what the server said', async () => {
  const given = options({})
  let count = 0
  const connect = (nonce: string): Promise<Answer<Session>> =>
    ++count % 4 === 0 ? Promise.resolve(away('too many connections')) : given.store.connect(nonce)
  const taken = lived({ ...given, resumeMs: 100, store: { ...given.store, connect } })
  await expect(taken).rejects.toMatchObject({
    code: 'STORE_UNREACHABLE',
    message: expect.stringContaining('too many connections') as string,
  })
})

test('a life that resumes on a server whose commits are on one machine knows it before it goes on', async () => {
  const settings = { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on' }
  const safe = { ...facts, settings: { ...settings, synchronous_standby_names: 'ANY 1 (n1, n2)' } }
  let now = safe
  const events: string[] = []
  const { lease } = await lived({
    ...options({ safety: () => Promise.resolve(done(now)) }),
    safety: 'required',
    onEvent: ({ kind }) => events.push(kind),
  })
  now = { ...safe, settings: { ...safe.settings, synchronous_standby_names: '' } }
  await lease.again(await lease.tenure(), {}, away('the primary has died'))
  await lease.tenure()
  expect(lease.isUnsafe).toBe(true)
  expect(events).toEqual(['interrupted', 'safety', 'resumed'])
})

test('connections that nobody uses are used now and then', async () => {
  const used: string[] = []
  const given = options({ safety: () => Promise.resolve(done(facts)) })
  const names = ['beat', 'journal', 'names', 'reads']
  const connect = async (nonce: string): Promise<Answer<Session>> => {
    const answer = await given.store.connect(nonce)
    if (answer.kind !== 'done') return answer
    const name = names.shift() ?? '?'
    const standing = (queue: number): ReturnType<Session['standing']> => {
      used.push(name)
      return answer.value.standing(queue)
    }
    return done({ ...answer.value, standing })
  }
  await lived({ ...given, beatMs: 10, safetyMs: 10, store: { ...given.store, connect } })
  used.length = 0
  await expect.poll(() => used.length).toBeGreaterThanOrEqual(3)
  expect(used.slice(0, 3).sort()).toEqual(['journal', 'names', 'reads'])
})
