/** Which submissions settle, and up to where all have. */
import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { nowhere, position, type Position } from '../../../src/base/position.js'
import { Tickets } from '../../../src/engine/accept/tickets.js'
import type { QueueEmitter } from '../../../src/engine/life/events.js'
import { envelopeOf } from '../../lane/fixture.js'

/** Submissions that end at 10, 20 …, each with so many recipients. */
function waiting(...recipientCounts: readonly number[]): { tickets: Tickets; settled: number[] } {
  const tickets = new Tickets(new EventEmitter() as unknown as QueueEmitter)
  const settled: number[] = []
  for (const [i, count] of recipientCounts.entries())
    void tickets.wait(position(10 * i + 10), envelopeOf(count)).then(() => settled.push(i))
  return { tickets, settled }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test.each<[string, number, number, number[], Position]>([
  ['none', 0, 35, [], nowhere],
  ['those that have as many', 2, 35, [0, 1], position(20)],
  ['the last one with all it has', 3, 35, [0, 1, 2], position(35)],
  ['not behind what is durable', 100, 29, [0, 1], position(29)],
  ['all, and mail behind them that has no submitter', 100, 35, [0, 1, 2], position(35)],
])('in one turn settle %s', async (_, recipientCount, end, settledNow, settledEnd) => {
  const { tickets, settled } = waiting(1, 1, 5)
  tickets.settle(position(end), recipientCount)
  await turn()
  expect([settled, tickets.settledEnd]).toEqual([settledNow, settledEnd])
})

test('where none settles in a turn, what has settled before is what has settled', async () => {
  const { tickets, settled } = waiting(1, 1, 1)
  tickets.settle(position(30), 1)
  tickets.settle(position(30), 0)
  await turn()
  expect([settled, tickets.settledEnd, tickets.settledCount]).toEqual([[0], 10, 1])
  tickets.settle(position(30), Infinity)
  await turn()
  expect([settled, tickets.settledEnd, tickets.settledCount]).toEqual([[0, 1, 2], 30, 3])
})
