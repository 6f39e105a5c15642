/** The fold over the working suffix: what is left in it was being worked on. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { position, type Position } from '../../src/base/position.js'
import { WorkingSet } from '../../src/recovery/working-set.js'
import type { Start } from '../../src/record/start.js'

const at = (n: number): Position => position(n)
const suffix = at(1000)
const trusted = at(50_000)

const newSet = (): WorkingSet =>
  new WorkingSet({ suffix, trustedEnd: (lane) => (lane === 2 ? trusted : undefined) })

const startOf = (envelope: number, outOfOrder = false): Start => ({
  envelope: at(envelope),
  envelopeBytes: 100,
  outOfOrder,
  carried: undefined,
})

const carrying = (start: Position): Start => ({
  ...startOf(4096),
  carried: { start, notes: [], reported: [], warnings: 0, recoveries: 1, replacement: undefined },
})

const noteTo = (start: Position, targetEnd: number): Parameters<WorkingSet['replaced']>[3] => ({
  start,
  target: at(targetEnd - 100),
  targetEnd: at(targetEnd),
  reported: [3, 4],
  warnings: 1,
})

const left = (set: WorkingSet): number[] => Array.from(set.messages, ({ start }) => start)

test('a message that was started and not finished is left', () => {
  const set = newSet()
  set.start(at(1000), 0, startOf(4096))
  set.start(at(2000), 0, startOf(4196))
  set.finish(at(3000), { start: at(1000), reported: [], spool: 0 })
  expect(left(set)).toEqual([2000])
})

test('a start that carries takes the place of the one it names, even of one before the suffix', () => {
  const set = newSet()
  set.start(at(1000), 0, startOf(4096))
  set.delivery(at(1500), { start: at(1000), notes: [], finishes: false })
  set.start(at(2000), 0, carrying(at(1000)))
  set.start(at(2500), 0, carrying(at(500)))
  expect(left(set)).toEqual([2000, 2500])
  expect(Array.from(set.messages, ({ records }) => records.length)).toEqual([0, 0])
})

test('a replacement before the checkpointed end of its lane is believed', () => {
  const set = newSet()
  set.start(at(1000), 0, startOf(4096))
  set.replaced(at(2000), 2, 7, noteTo(at(1000), 50_000))
  expect(left(set)).toEqual([])
})

test('a replacement that ends one byte behind the checkpointed end is made again, what it reported counts', () => {
  const set = newSet()
  set.start(at(1000), 0, startOf(4096))
  set.replaced(at(2000), 2, 7, noteTo(at(1000), 50_001))
  const [message] = set.messages
  expect(message?.records).toEqual([
    { kind: 'reported', reported: [3, 4], warnings: 1 },
    { kind: 'replacement', lane: 2, timeMs: 7 },
  ])
})

test('a replacement in a lane that the checkpoint does not know is not believed', () => {
  const set = newSet()
  set.start(at(1000), 0, startOf(4096))
  set.replaced(at(2000), 9, 7, noteTo(at(1000), 4196))
  expect(left(set)).toEqual([1000])
})

test('a replacement that stands in the journal ends the start that it names', () => {
  const set = newSet()
  set.start(at(1000), 0, startOf(4096))
  set.replacedBy(at(2000), at(1000))
  expect(left(set)).toEqual([])
})

const records: readonly [string, (set: WorkingSet, start: Position) => void][] = [
  ['delivery', (set, start) => set.delivery(at(9000), { start, notes: [], finishes: false })],
  ['last delivery', (set, start) => set.delivery(at(9000), { start, notes: [], finishes: true })],
  ['finish', (set, start) => set.finish(at(9000), { start, reported: [], spool: 5 })],
  ['replaced', (set, start) => set.replaced(at(9000), 2, 7, noteTo(start, 40_000))],
  ['replacement in the journal', (set, start) => set.replacedBy(at(9000), start)],
]

test.each(records)('a %s record that names a start before the suffix is ignored', (_, apply) => {
  const set = newSet()
  apply(set, at(999))
  expect([left(set), set.finishedSpools]).toEqual([[], []])
})

test.each(records)(
  'a %s record that names an unknown start inside the suffix is corruption with its place',
  (_, apply) => {
    expect(() => apply(newSet(), suffix)).toThrow(
      expect.objectContaining({ code: 'LOG_CORRUPT', place: { log: 'journal', position: 9000 } }),
    )
  },
)

test('a message whose last delivery is recorded is not worked on any more', () => {
  const set = newSet()
  set.start(at(1000), 0, startOf(4096))
  set.start(at(1100), 0, startOf(5096))
  set.delivery(at(2000), { start: at(1000), notes: [], finishes: true })
  expect(left(set)).toEqual([1100])
})

test('the spool file of a finished message is to be unlinked again', () => {
  const set = newSet()
  set.start(at(1000), 0, startOf(4096))
  set.finish(at(2000), { start: at(1000), reported: [], spool: 77 })
  expect(set.finishedSpools).toEqual([77])
})

test('the runner goes behind the farthest envelope started in order; others become marks', () => {
  const set = newSet()
  set.start(at(1000), 2, startOf(4296))
  set.start(at(1100), 2, startOf(4096))
  set.start(at(1200), 2, startOf(9000, true))
  expect(set.lanes.get(2)).toEqual({ runner: 4396, marks: [9000], namedAt: 1200 })
})

/** A life of some messages: starts, deliveries, carries and ends in any order that a life can
 * have. */
const anyLife = fc.array(
  fc.tuple(fc.constantFrom('start', 'delivery', 'carry', 'finish', 'believed', 'unbelieved'), fc.nat(9)),
  {
    maxLength: 60,
    size: 'max',
  },
)

test('reading a suffix twice leaves what reading it once leaves, and carrying starts change nothing', () => {
  fc.assert(
    fc.property(anyLife, (life) => {
      const once = newSet()
      const alive = replay(life, once)
      expect(left(once)).toEqual(alive)
      // Another recovery appended carrying starts and was cut short anywhere: the next one reads
      // both.
      for (let count = 0; count <= alive.length; count++) {
        const again = newSet()
        replay(life, again)
        const carried = alive.slice(0, count).map((start, i) => {
          again.start(at(1_000_000 + i), 0, carrying(at(start)))
          return 1_000_000 + i
        })
        expect(left(again)).toEqual([...alive.slice(count), ...carried])
      }
    }),
    { numRuns: 200 },
  )
})

/** Applies a life; returns the starts of those that are alive, in order. */
function replay(life: readonly (readonly [string, number])[], set: WorkingSet): number[] {
  const alive: number[] = []
  life.forEach(([verb, choice], i) => {
    const place = at(2000 + i * 10)
    const start = alive.length === 0 ? undefined : at(alive[choice % alive.length]!)
    const end = (): void => void alive.splice(alive.indexOf(start!), 1)
    if (verb === 'start') {
      set.start(place, 0, startOf(4096 + i * 100))
      alive.push(place)
    } else if (start === undefined) return
    else if (verb === 'delivery') set.delivery(place, { start, notes: [], finishes: false })
    else if (verb === 'carry') {
      set.start(place, 0, carrying(start))
      end()
      alive.push(place)
    } else if (verb === 'finish') {
      set.finish(place, { start, reported: [], spool: 0 })
      end()
    } else if (verb === 'believed') {
      set.replaced(place, 2, 7, noteTo(start, 40_000))
      end()
    }
  })
  return alive
}
