import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkedParameters } from '../../src/scheduler/parameter-bounds.js'
import { type Timer, Timers } from '../../src/scheduler/timers.js'
import { Transport } from '../../src/scheduler/transport.js'

const transport = new Transport('smtp', checkedParameters({}).defaults)

test('timers fire by due time, equal ones in the order in which they were asked for, cancelled ones never', () => {
  const asked = fc.record({ dueMs: fc.integer({ min: 0, max: 20 }), cancelled: fc.boolean() })
  fc.assert(
    fc.property(fc.array(asked, { maxLength: 60, size: 'max' }), (wanted) => {
      const timers = new Timers()
      const made = wanted.map(({ dueMs }) => timers.ask('transport', dueMs, transport))
      wanted.forEach(({ cancelled }, i) => cancelled && timers.cancel(made[i]!))
      const fired: Timer[] = []
      for (let timer = timers.takeDue(20); timer; timer = timers.takeDue(20)) fired.push(timer)
      const expected = made
        .filter((_, i) => !wanted[i]!.cancelled)
        .toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order)
      expect(fired).toEqual(expected)
    }),
  )
})

test('a timer does not fire before it is due', () => {
  const timers = new Timers()
  timers.ask('transport', 10, transport)
  expect(timers.nextDueMs).toBe(10)
  expect(timers.takeDue(9)).toBeUndefined()
  expect(timers.takeDue(10)).toBeDefined()
  expect(timers.nextDueMs).toBe(Infinity)
})
