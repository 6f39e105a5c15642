import { expect, test } from 'vitest'
import { nowhere, position } from '../../src/base/position.js'
import { firstRetryLane, holdLane, incomingLane, Lane } from '../../src/lane/lane.js'
import { Lanes } from '../../src/lane/lanes.js'
import type { Candidate } from '../../src/lane/runner.js'
import { candidateAt } from './fixture.js'

const laneOf = (number: number, intervalMs: number, wanted = true): Lane =>
  new Lane({
    number,
    intervalMs,
    logs: undefined,
    runner: position(4096),
    trustedEnd: position(4096),
    dataFloor: position(4096),
    lastMarks: nowhere,
    wanted,
  })

test('a message waits until its interval has passed since it was appended', () => {
  const lane = laneOf(2, 300_000)
  const candidate = { ...candidateAt(4096, 1_000_000), seenAtMs: 0 }
  expect(lane.waitMs(candidate, 1_100_000, 100_000)).toBe(200_000)
  expect(lane.waitMs(candidate, 1_300_000, 300_000)).toBe(0)
})

test('a message waits at most its interval by the monotonic clock, wherever the wall clock steps', () => {
  const lane = laneOf(2, 300_000)
  const candidate = { ...candidateAt(4096, 1_000_000), seenAtMs: 5_000 }
  expect(lane.waitMs(candidate, 0, 5_000)).toBe(300_000)
  expect(lane.waitMs(candidate, 0, 304_000)).toBe(1_000)
  expect(lane.waitMs(candidate, 0, 305_000)).toBe(0)
})

test('behind the first that shows how far the clock was set back, the others are due as they were appended', () => {
  const lane = laneOf(2, 1000)
  const appendedAt = (timeMs: number, seenAtMs: number): Candidate => ({
    ...candidateAt(4096, timeMs),
    seenAtMs,
  })
  expect(lane.waitMs(appendedAt(500_000, 0), 441_000, 1000)).toBe(0)
  expect(lane.waitMs(appendedAt(500_200, 900), 441_000, 1000)).toBe(200)
})

test('what was appended after the clock was set back is not tried early when it is set back again', () => {
  const lane = laneOf(2, 1000)
  expect(lane.waitMs({ ...candidateAt(4096, 500_000), seenAtMs: 0 }, 431_000, 1000)).toBe(0)
  expect(lane.waitMs({ ...candidateAt(4608, 440_500), seenAtMs: 600 }, 431_000, 1000)).toBe(600)
})

test('a clock that was set back counts as set back once, however often it is asked, and until it is right again', () => {
  const lane = laneOf(2, 1000)
  const first = { ...candidateAt(4096, 10_000), seenAtMs: 0 }
  for (let turn = 0; turn < 5; turn++) expect(lane.waitMs(first, 10_700, 1000)).toBe(0)
  const next = { ...candidateAt(4608, 10_650), seenAtMs: 900 }
  expect(lane.waitMs(next, 10_600, 1000)).toBe(750)
  lane.waitMs(first, 12_000, 1000)
  expect(lane.waitMs(next, 10_600, 1000)).toBe(900)
})

test('the number of a lane says what it is', () => {
  expect([
    laneOf(incomingLane, 0).kind,
    laneOf(holdLane, Infinity).kind,
    laneOf(firstRetryLane, 1).kind,
  ]).toEqual(['incoming', 'hold', 'retry'])
})

test('a lane with a candidate is not drained', () => {
  const lane = laneOf(2, 1)
  expect(lane.isDrained).toBe(true)
  lane.runner.handOver(candidateAt(4096))
  expect(lane.isDrained).toBe(false)
})

test('a delay goes to the wanted lane of the nearest interval, never to one that is only drained', () => {
  const lanes = new Lanes([laneOf(2, 100, false), laneOf(3, 300), laneOf(4, 900)], 5)
  expect(lanes.forDelay(300).number).toBe(3)
  expect(lanes.forDelay(100).number).toBe(3)
  expect(lanes.forDelay(700).number).toBe(4)
  expect(() => lanes.get(9)).toThrow('a lane that is named exists')
  expect([lanes.has(2), lanes.has(9)]).toEqual([true, false])
})
