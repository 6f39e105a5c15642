/** How many syncs of mailboxes go on at once. */
import { expect, test } from 'vitest'
import { slowAgainMs, slowSyncMs, SyncTurns, threadCountOf } from '../../../src/relay/maildir/sync-turns.js'

/** Syncs that end when the test says so, by a clock that it holds. */
function stage(threadCount: number) {
  let nowMs = 0
  const turns = new SyncTurns(threadCount, { monotonicMs: () => nowMs })
  const ends: (() => void)[] = []
  const begun: number[] = []
  const ask = (number: number, fails = false): Promise<void> => {
    const sync = (): Promise<void> => {
      begun.push(number)
      return new Promise((resolve, reject) =>
        ends.push(() => (fails ? reject(new Error('of the disk')) : resolve())),
      )
    }
    return turns.inTurn(sync)
  }
  const pass = (ms: number): void => void (nowMs += ms)
  const endFirst = async (afterMs: number): Promise<void> => {
    nowMs += afterMs
    ends.shift()!()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { ask, begun, endFirst, pass }
}

test('syncs begin in their order, as many at once as there are threads', async () => {
  const { ask, begun, endFirst } = stage(2)
  for (const number of [1, 2, 3, 4]) void ask(number)
  expect(begun).toEqual([1, 2])
  await endFirst(1)
  expect(begun).toEqual([1, 2, 3])
})

test('a thread stays free behind a slow sync, also where quick ones lie between', async () => {
  const { ask, begun, endFirst } = stage(2)
  for (const number of [1, 2, 3, 4, 5]) void ask(number)
  await endFirst(slowSyncMs + 1)
  expect(begun).toEqual([1, 2])
  await endFirst(0)
  expect(begun).toEqual([1, 2, 3])
  await endFirst(slowSyncMs)
  expect(begun).toEqual([1, 2, 3, 4])
})

test.each([
  [slowAgainMs - 1, [1, 2]],
  [slowAgainMs, [1, 2, 3]],
])('%i ms behind the last slow sync these have begun: %j', async (ms, numbers) => {
  const { ask, begun, endFirst, pass } = stage(2)
  void ask(1)
  await endFirst(slowSyncMs + 1)
  pass(ms)
  void ask(2)
  void ask(3)
  expect(begun).toEqual(numbers)
})

test('a sync that lasts leaves a thread to others before it has ended', async () => {
  const { ask, begun, endFirst, pass } = stage(3)
  void ask(1)
  pass(slowSyncMs + 1)
  for (const number of [2, 3]) void ask(number)
  expect(begun).toEqual([1, 2])
  await endFirst(0)
  expect(begun).toEqual([1, 2, 3])
})

test('a sync that fails makes room for the next one, also where there is one thread', async () => {
  const { ask, begun, endFirst } = stage(1)
  const first = ask(1, true).then(
    () => 'synced',
    (error: Error) => error.message,
  )
  void ask(2)
  await endFirst(slowSyncMs + 1)
  expect(await first).toBe('of the disk')
  expect(begun).toEqual([1, 2])
})

test.each([
  [undefined, 4],
  ['', 4],
  ['many', 4],
  ['1', 1],
  ['16', 16],
])('UV_THREADPOOL_SIZE %j is %i threads', (said, count) => {
  expect(threadCountOf(said)).toBe(count)
})
