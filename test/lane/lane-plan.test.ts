import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nowhere, position } from '../../src/base/position.js'
import { firstRetryLane, holdLane, incomingLane } from '../../src/lane/lane.js'
import {
  laneCountMax,
  nearestInterval,
  planLanes,
  type LanePlace,
  type LanePlan,
  type Layout,
} from '../../src/lane/lane-plan.js'
import type { LanePositions } from '../../src/record/checkpoint.js'

const placeAt = (journalEnd: number, present: ReadonlySet<number> = new Set()): LanePlace => ({
  journalEnd,
  laneSegmentBytes: 65_536,
  present,
})

const intervalsOf = ({ lanes }: LanePlan): number[] =>
  lanes.filter(({ lane }) => lane >= firstRetryLane).map(({ intervalMs }) => intervalMs)

test('a new queue has incoming in the journal, hold with logs of its own, and a lane for each interval', () => {
  const plan = planLanes([], 0, [300_000, 600_000], 'lanes', placeAt(40_960))
  expect(plan.lanes.map(({ lane, intervalMs, inJournal }) => [lane, intervalMs, inJournal])).toEqual([
    [incomingLane, 0, true],
    [holdLane, 0, false],
    [2, 300_000, false],
    [3, 600_000, false],
  ])
  expect(plan.laneNext).toBe(4)
  // Incoming begins where the journal does: mail may be in it before the first checkpoint.
  expect(plan.lanes[0]).toMatchObject({ runner: 4096, marks: nowhere })
})

test('a new lane in the journal begins where the journal goes on: nothing of it stands before', () => {
  const { lanes, laneNext } = planLanes([], 0, [], 'lanes', placeAt(8192))
  for (const [layout, runner] of [
    ['single', 40_960],
    ['lanes', 4096],
  ] as const)
    expect(planLanes(lanes, laneNext, [1000], layout, placeAt(40_960)).lanes.at(-1)).toMatchObject({
      lane: 2,
      runner,
    })
})

const anyPolicy = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 })
const anyLives = fc.array(fc.tuple(anyPolicy, fc.constantFrom<Layout>('lanes', 'single')), {
  minLength: 1,
  maxLength: 12,
})

test('through any policies and layouts a lane keeps its number and positions, and no number is given twice', () => {
  fc.assert(
    fc.property(anyLives, (lives) => {
      let lanes: readonly LanePositions[] = []
      let laneNext = 0
      const known = new Map<number, string>()
      for (const [intervalsMs, layout] of lives) {
        const plan = planLanes(lanes, laneNext, intervalsMs, layout, placeAt(99_999_744))
        for (const { lane, intervalMs, inJournal } of plan.lanes) {
          expect(known.get(lane) ?? `${intervalMs} ${inJournal}`).toBe(`${intervalMs} ${inJournal}`)
          known.set(lane, `${intervalMs} ${inJournal}`)
          expect(lane).toBeLessThan(plan.laneNext)
        }
        expect(plan.lanes.slice(0, lanes.length)).toEqual(lanes)
        expect(new Set(plan.lanes.map(({ lane }) => lane)).size).toBe(plan.lanes.length)
        for (const intervalMs of intervalsMs)
          expect(
            plan.lanes.filter(
              (lane) => lane.intervalMs === intervalMs && lane.inJournal === (layout === 'single'),
            ),
          ).toHaveLength(1)
        // Every third lane is drained and leaves the table.
        lanes = plan.lanes.filter(({ lane }) => lane < firstRetryLane || lane % 3 > 0)
        laneNext = plan.laneNext
      }
    }),
  )
})

test('a lane that a policy names again is found again', () => {
  const first = planLanes([], 0, [1000], 'lanes', placeAt(4096))
  const [kept] = first.lanes.filter(({ lane }) => lane === 2)
  const moved = { ...kept!, runner: position(8192) }
  const second = planLanes(
    [...first.lanes.slice(0, 2), moved],
    first.laneNext,
    [2000, 1000],
    'lanes',
    placeAt(4096),
  )
  expect(intervalsOf(second)).toEqual([1000, 2000])
  expect(second.lanes[2]).toBe(moved)
})

test('more intervals than lanes is LANES_TOO_MANY', () => {
  const many = Array.from({ length: laneCountMax + 1 }, (_, i) => i + 1)
  expect(() => planLanes([], 0, many, 'lanes', placeAt(0))).toThrow(
    expect.objectContaining({ code: 'LANES_TOO_MANY' }),
  )
  expect(() => planLanes([], 0, many.slice(1), 'lanes', placeAt(0))).not.toThrow()
})

test('when all numbers have been given they are given again, at positions that no lane of that number had', () => {
  const { lanes } = planLanes([], 0, [1], 'lanes', placeAt(0))
  const last = planLanes(lanes, 0x7fff, [2], 'lanes', placeAt(0))
  expect(last.lanes.at(-1)).toMatchObject({ lane: 0x7fff, envelopesEnd: 4096, dataEnd: 4096 })
  // Number 2 is in use, and so is 3, of which a directory is left.
  const again = planLanes(lanes, last.laneNext, [3], 'lanes', placeAt(0, new Set([3])))
  const at = 2 ** 20 * 65_536 + 4096
  expect(again.lanes.at(-1)).toMatchObject({
    lane: 4,
    runner: at,
    envelopesEnd: at,
    dataEnd: at,
    dataFloor: at,
  })
  const third = planLanes(lanes, again.laneNext + 0x7ffe - 1, [4], 'lanes', placeAt(0))
  expect(third.lanes.at(-1)).toMatchObject({ lane: 4, envelopesEnd: 2 * (at - 4096) + 4096 })
})

test('a queue in which mail waits under every number has none for a new lane', () => {
  const taken = new Set(Array.from({ length: 0x8000 }, (_, i) => i))
  expect(() => planLanes([], 0, [1], 'lanes', placeAt(0, taken))).toThrow(
    expect.objectContaining({ code: 'LANES_TOO_MANY' }),
  )
})

test('the nearest interval is no farther than any other', () => {
  fc.assert(
    fc.property(anyPolicy, fc.nat(60), (intervalsMs, delayMs) => {
      const nearest = nearestInterval(intervalsMs, delayMs)
      expect(intervalsMs).toContain(nearest)
      for (const other of intervalsMs)
        expect(Math.abs(nearest - delayMs)).toBeLessThanOrEqual(Math.abs(other - delayMs))
    }),
  )
})
