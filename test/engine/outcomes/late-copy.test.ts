/** What becomes durable while a copy from the journal ends. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { position } from '../../../src/base/position.js'
import { outcomesOver } from './outcomes-over.js'

test('what becomes durable at any step of the end of a copy is copied, too', async () => {
  const journal = { read: async (_: number, to: number) => to, end: position(0), durableEnd: position(0) }
  const outcomes = await outcomesOver(journal)
  await outcomes.add({ name: 'it', cursor: 0, isReading: true, isKept: true }, () => Promise.resolve())
  const copied: number[] = []
  const durable: number[] = []
  const becomesDurable = (): void => {
    journal.durableEnd = position(journal.durableEnd + 10)
    outcomes.copy()
  }
  for (let steps = 0; steps < 16; steps++) {
    becomesDurable()
    for (let step = 0; step < steps; step++) await Promise.resolve()
    becomesDurable()
    await turn()
    copied.push(outcomes.capture(journal.end, 0).from)
    durable.push(journal.durableEnd)
  }
  expect(copied).toEqual(durable)
})
