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
    inheritedEnd: position(0),
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

test('a clock that is set back twice makes nothing due at once', () => {
  const lane = laneOf(2, 300_000)
  // Set back by 100 s while these waited.
  for (let i = 0; i < 10; i++)
    expect(lane.waitMs({ ...candidateAt(4096, 1_000_000), seenAtMs: 0 }, 1_200_000, 300_000)).toBe(0)
  // Set back by 10 s behind its append.
  const late = { ...candidateAt(8192, 2_000_000), seenAtMs: 1_100_000 }
  expect(lane.waitMs(late, 1_990_000, 1_100_000)).toBe(300_000)
})

test('how far a clock was set back is forgotten with the mail that was appended before it', () => {
  const lane = laneOf(2, 300_000)
  const ahead = { ...candidateAt(4096, 9_000_000), seenAtMs: 0 }
  expect(lane.waitMs(ahead, 1_300_000, 300_000)).toBe(0)
  // The next ones of that time need not wait for the monotonic clock again.
  expect(lane.waitMs({ ...ahead, seenAtMs: 300_000 }, 1_300_000, 300_000)).toBe(0)
  expect(lane.waitMs({ ...candidateAt(8192, 1_300_000), seenAtMs: 300_000 }, 1_300_000, 300_000)).toBe(
    300_000,
  )
  expect(lane.waitMs({ ...candidateAt(8192, 1_500_000), seenAtMs: 500_000 }, 1_490_000, 500_000)).toBe(
    300_000,
  )
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
  for (let turn = 0; turn < 5; turn++) expect(lane.waitMs(first, 9700, 1000)).toBe(0)
  const next = { ...candidateAt(4608, 10_650), seenAtMs: 900 }
  expect(lane.waitMs(next, 9700, 1000)).toBe(650)
  lane.waitMs(first, 12_000, 1000)
  expect(lane.waitMs(next, 9700, 1000)).toBe(900)
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
  expect(lane.isAllStarted).toBe(true)
  lane.runner.handOver(candidateAt(4096))
  expect(lane.isAllStarted).toBe(false)
})

test('a delay goes to the wanted lane of the nearest interval, never to one that is only drained', () => {
  const lanes = new Lanes([laneOf(2, 100, false), laneOf(3, 300), laneOf(4, 900)], 5)
  expect(lanes.forDelay(300).number).toBe(3)
  expect(lanes.forDelay(100).number).toBe(3)
  expect(lanes.forDelay(700).number).toBe(4)
  expect(() => lanes.get(9)).toThrow('a lane that is named exists')
  expect([lanes.has(2), lanes.has(9)]).toEqual([true, false])
})
