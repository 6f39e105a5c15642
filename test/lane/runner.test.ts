/** The runner against a lane kept as a list: it starts every envelope once, in order, and never
 * loses its place. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assert } from '../../src/base/assert.js'
import { position, type Position } from '../../src/base/position.js'
import { Marks } from '../../src/lane/marks.js'
import { Runner } from '../../src/lane/runner.js'
import { candidateAt, frameLength } from './fixture.js'

const born = position(4096)
const placeOf = (i: number): Position => position(4096 + i * frameLength)
const blank = Buffer.alloc(20_000_000)
const everything = position(Number.MAX_SAFE_INTEGER)

/** The lane, its runner, and what reading it does. */
class Bench {
  readonly marks: Marks = new Marks()
  readonly runner: Runner = new Runner(born, this.marks)
  readonly started: number[] = []
  readonly outOfOrder: Set<number> = new Set()
  appendedCount = 0

  append(handOver: boolean, dataBytes: number): void {
    const i = this.appendedCount++
    if (handOver) this.runner.handOver(candidateAt(placeOf(i), 0, blank.subarray(0, dataBytes)))
    else this.runner.missed(placeOf(i + 1))
  }

  /** As engine/start/lane-reading.ts does, a few at a time. */
  read(countMax: number): void {
    if (!this.runner.isBehind) return
    let i = Math.round((this.runner.readFrom - born) / frameLength)
    for (let count = 0; count < countMax && i < this.appendedCount; count++, i++)
      this.runner.found(candidateAt(placeOf(i)))
    this.runner.readTo(placeOf(i))
  }

  start(trustedEnd: Position): boolean {
    const candidate = this.runner.peek(trustedEnd)
    if (candidate === undefined) return false
    assert(candidate.position + candidate.bytes <= trustedEnd, 'nothing is started behind the trusted end')
    this.runner.take()
    this.started.push(Math.round((candidate.position - born) / frameLength))
    return true
  }

  /** Every envelope before the restart position was started; none behind it in order. */
  check(): void {
    const at = Math.round((this.runner.position - born) / frameLength)
    const touched = new Set([...this.started, ...this.outOfOrder])
    const waitingEnd = this.runner.position + this.runner.waitingBytes
    for (let i = at; i < this.appendedCount; i++)
      assert(touched.has(i) || placeOf(i + 1) <= waitingEnd, 'what waits is within the bytes that wait')
    for (let i = 0; i < at; i++) assert(touched.has(i), 'what lies before the restart position was started')
    assert(
      this.started.every((i) => i < at),
      'what was started in order lies before the restart position',
    )
  }
}

const anySteps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(fc.constant('append' as const), fc.constantFrom(0, 1, 1_000_000, 20_000_000)),
    },
    { weight: 1, arbitrary: fc.tuple(fc.constant('miss' as const), fc.constant(0)) },
    { weight: 3, arbitrary: fc.tuple(fc.constant('read' as const), fc.integer({ min: 1, max: 5 })) },
    { weight: 4, arbitrary: fc.tuple(fc.constant('start' as const), fc.integer({ min: 1, max: 4 })) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('mark' as const), fc.nat(200)) },
  ),
  { maxLength: 200, size: 'max' },
)

test('every envelope is started once and in order, whatever is handed over, missed, read or marked', () => {
  fc.assert(
    fc.property(anySteps, (steps) => {
      const lane = new Bench()
      for (const [verb, value] of steps) {
        if (verb === 'append') lane.append(true, value)
        else if (verb === 'miss') lane.append(false, 0)
        else if (verb === 'read') lane.read(value)
        else if (verb === 'start') for (let i = 0; i < value; i++) lane.start(everything)
        else mark(lane, value)
        lane.check()
      }
      do lane.read(3)
      while (lane.start(everything) || lane.runner.isBehind)
      const all = Array.from({ length: lane.appendedCount }, (_, i) => i)
      expect(lane.started).toEqual(all.filter((i) => !lane.outOfOrder.has(i)))
      expect(lane.runner.position).toBe(placeOf(lane.appendedCount))
      lane.marks.passed(position(lane.runner.position + 65_536))
      expect(lane.marks.count).toBe(0)
    }),
    { numRuns: 300 },
  )
})

/** Starts one from the middle, as a verb does. */
function mark(lane: Bench, value: number): void {
  const first = Math.round((lane.runner.position - born) / frameLength)
  const i = first + (value % Math.max(1, lane.appendedCount - first))
  if (i >= lane.appendedCount || lane.outOfOrder.has(i) || lane.started.includes(i)) return
  lane.marks.add(placeOf(i))
  lane.outOfOrder.add(i)
}

test('nothing is started behind the trusted end, not even what is in memory', () => {
  const lane = new Bench()
  for (let i = 0; i < 3; i++) lane.append(true, 0)
  expect(lane.start(position(placeOf(2) - 1))).toBe(true)
  expect(lane.start(position(placeOf(2) - 1))).toBe(false)
  expect(lane.start(placeOf(2))).toBe(true)
  expect(lane.start(placeOf(2))).toBe(false)
})

test('data beyond what may be kept is left in the log, and the runner does not fall behind', () => {
  const lane = new Bench()
  for (let i = 0; i < 40; i++) lane.append(true, 1_000_000)
  expect(lane.runner.isBehind).toBe(false)
  const hasData = Array.from({ length: 40 }, () => {
    const { data } = lane.runner.peek(everything)!
    lane.start(everything)
    return data !== undefined
  })
  expect(hasData.filter(Boolean)).toHaveLength(33)
  expect(hasData.lastIndexOf(true)).toBe(32)
  // What was taken has made room.
  lane.append(true, 1_000_000)
  expect(lane.runner.peek(everything)!.data).toBeDefined()
})

test('envelopes beyond what may be kept are read from the log', () => {
  const lane = new Bench()
  for (let i = 0; i < 4097; i++) lane.append(true, 0)
  expect(lane.runner.readAheadCount).toBe(4096)
  expect(lane.runner.isBehind).toBe(true)
  expect(lane.runner.position).toBe(placeOf(0))
})

test('when nothing waits the runner follows the end of the log, else it stays', () => {
  const lane = new Bench()
  lane.append(true, 0)
  lane.runner.caughtUp(position(9_000_000))
  expect(lane.runner.position).toBe(placeOf(0))
  lane.start(everything)
  lane.runner.caughtUp(position(9_000_000))
  expect(lane.runner.position).toBe(9_000_000)
})
