/** Turns of a message: few, whatever its deliveries. */
import { expect, test } from 'vitest'
import { LimitTurns, turnsMax } from '../../src/active/limit-turns.js'

const transport = 'out'

/** An attempt in which each of so many sites has to wait. @returns those that got a turn */
function attempt(turns: LimitTurns, siteCount: number, nowMs: number): number {
  let given = 0
  turns.begin(nowMs)
  for (let n = 0; n < siteCount; n++) {
    const [nexthop, untilMs] = [`${n}.example`, nowMs + 1000 + n]
    const hadMs = turns.take(nexthop, nowMs)
    if (hadMs === undefined && turns.isFull) turns.lookAt({ transport, nexthop, untilMs: nowMs + 500 })
    else {
      turns.give(nexthop, { transport, nexthop, untilMs: hadMs ?? untilMs })
      given++
    }
  }
  return given
}

test('however many deliveries of a message wait, few have turns, and it is attempted for the others', () => {
  const turns = new LimitTurns()
  for (const nowMs of [0, 100, 200]) {
    expect(attempt(turns, 1000, nowMs)).toBe(turnsMax)
    expect(turns.first).toMatchObject({ untilMs: nowMs + 500 })
  }
})

test('a message of which a delivery waits has a first turn, though none of those before asks again', () => {
  const turns = new LimitTurns()
  attempt(turns, turnsMax, 0)
  turns.begin(0)
  expect(turns.isFull).toBe(false)
  turns.give('other.example', { transport, nexthop: 'other.example', untilMs: 50 })
  expect(turns.first).toMatchObject({ nexthop: 'other.example' })
})
