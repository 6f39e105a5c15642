import { expect, test } from 'vitest'
import { SteadyTime } from '../../../src/sim/model/steady-time.js'

test('steady time goes forward with the clock that is set forward, and does not go back with one that is set back', () => {
  const steady = new SteadyTime()
  steady.stepped(-500)
  expect(steady.at(1000)).toBe(1500)
  steady.stepped(300)
  expect(steady.at(1300)).toBe(1800)
  const copy = steady.copy()
  copy.stepped(-1)
  expect([steady.at(0), copy.at(0)]).toEqual([500, 501])
})
