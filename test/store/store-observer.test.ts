/** What looks at a store tell of owners, with a held clock and a store that is made up. */
import { expect, test } from 'vitest'
import type { Clock } from '../../src/base/clock.js'
import { done, type Answer, type Session, type Standing, type Store } from '../../src/store/store.js'
import { StoreObserver, type QueueStatus } from '../../src/store/store-status.js'

interface Stage {
  readonly observer: StoreObserver
  /** Of the only queue. */
  standing: Standing
  nowMs: number
  lookCount: number
  /** What happens while a look pauses. */
  meanwhile: () => void
  readonly seen: () => Promise<QueueStatus>
}

const beating = (beat: number, epoch = 3): Standing => ({
  epoch,
  nonce: 'life',
  node: 'mx1',
  address: '192.0.2.1',
  beat,
  isConnected: true,
})

function staged(): Stage {
  const clock: Clock = {
    wallMs: () => 0,
    monotonicMs: () => stage.nowMs,
    after: (delayMs, callback) => {
      stage.nowMs += delayMs
      stage.meanwhile()
      queueMicrotask(callback)
      return { cancel: () => undefined }
    },
    soon: (callback) => queueMicrotask(callback),
  }
  const answered = <T>(value: T): Promise<Answer<T>> => Promise.resolve(done(value))
  const session = {
    timeline: 1,
    safety: () => answered({ versionNumber: 150_000, settings: {}, standbyCount: 1, subscribers: [] }),
    queues: () => answered([{ queue: 1, name: 'mx1', home: 'mx1', quotaBytes: 1000 }]),
    standing: () => {
      stage.lookCount++
      return answered(stage.standing)
    },
    usedBytes: () => answered(10),
    close: () => undefined,
  } as unknown as Session
  const store: Store = { name: 'db', connect: () => answered(session), newNonce: () => '' }
  const stage: Stage = {
    observer: new StoreObserver(store, clock, 2000),
    standing: beating(7),
    nowMs: 50_000,
    lookCount: 0,
    meanwhile: () => undefined,
    seen: async () => (await stage.observer.status()).queues[0]!,
  }
  return stage
}

test('the first answer is of two looks, and says whether the owner has beaten between them', async () => {
  const stage = staged()
  stage.meanwhile = () => (stage.standing = beating(8))
  expect(await stage.seen()).toMatchObject({ state: 'beats', silentMsMin: 0, silentMsMax: 2000 })
  expect(stage.lookCount).toBe(2)
  const silent = staged()
  expect(await silent.seen()).toMatchObject({ state: 'silent', silentMsMin: 2000, silentMsMax: undefined })
})

test('later answers are of one look, and silence grows from the last beat that was seen', async () => {
  const stage = staged()
  stage.meanwhile = () => (stage.standing = beating(8))
  await stage.seen()
  stage.nowMs += 5000
  expect(await stage.seen()).toMatchObject({ state: 'silent', silentMsMin: 5000, silentMsMax: 7000 })
  stage.nowMs += 5000
  stage.standing = beating(9)
  expect(await stage.seen()).toMatchObject({ state: 'beats', silentMsMin: 0, silentMsMax: 5000 })
  expect(stage.lookCount).toBe(4)
})

test('a beat that moved since a look of long ago does not say that the owner lives', async () => {
  const stage = staged()
  await stage.seen()
  stage.nowMs += 3_600_000
  stage.standing = beating(9)
  expect(await stage.seen()).toMatchObject({ state: 'silent', silentMsMin: 2000, silentMsMax: undefined })
})

test('a claim counts as a beat, and a queue that nobody has had has no owner', async () => {
  const stage = staged()
  await stage.seen()
  stage.standing = beating(7, 4)
  expect(await stage.seen()).toMatchObject({ state: 'beats', epoch: 4 })
  const unowned = staged()
  unowned.standing = { ...beating(0, 0), nonce: undefined, node: undefined, address: undefined }
  expect(await unowned.seen()).toMatchObject({ state: 'none', owner: undefined })
  expect(unowned.nowMs).toBe(50_000)
})

test('readers at one time share a look', async () => {
  const stage = staged()
  const [one, other] = await Promise.all([stage.observer.status(), stage.observer.status()])
  expect(one).toBe(other)
  expect(stage.lookCount).toBe(2)
})
