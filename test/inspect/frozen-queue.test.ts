import { expect, test } from 'vitest'
import { fixtureQueue, type Fixture } from './fixture-queue.js'
import { frozenQueue } from './frozen-queue.js'
import { stateOf } from './inspected-state.js'

const queues = async (state: Fixture): Promise<string[]> =>
  (await stateOf(state))!.text.split('\n').map((line) => line.split(' ')[0]!)

test('a queue written by the first release is read: mail of every kind is found in it', async () => {
  const found = await queues(frozenQueue())
  const counts = Object.fromEntries(
    ['incoming', 'active', 'deferred', 'hold'].map((name) => [
      name,
      found.filter((queue) => queue === name).length,
    ]),
  )
  expect(counts).toEqual({ incoming: 7, active: 8, deferred: 19, hold: 3 })
})

test('the queue that is frozen is one that the engine still makes', async () => {
  expect(await queues(await fixtureQueue())).toEqual(await queues(frozenQueue()))
})
