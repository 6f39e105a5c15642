/** What is known of an active message: living through it and replaying it come to the same. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ActiveMessage, type ActiveRecord, type EnvelopePlace } from '../../src/active/active-message.js'
import { position } from '../../src/base/position.js'
import { forEachIn, toRanges } from '../../src/base/ranges.js'
import { decodeStart, encodeStart } from '../../src/record/start.js'
import { envelopeOf } from '../lane/fixture.js'

const place: EnvelopePlace = { lane: 0, position: position(4096), bytes: 100, outOfOrder: false }
const newMessage = (count: number): ActiveMessage =>
  new ActiveMessage(envelopeOf(count), place, position(9000), undefined)

const recipientCount = 40
const kinds = ['delivered', 'deferred', 'failed'] as const

/** Records that a life can have: each recipient gets at most one outcome, but who is deferred may
 * be given up; failures can be reported. */
const anyRecords: fc.Arbitrary<ActiveRecord[]> = fc
  .record({
    order: fc.shuffledSubarray(Array.from({ length: recipientCount }, (_, i) => i)),
    cuts: fc.array(fc.nat(7), { maxLength: 20 }),
    outcomes: fc.array(fc.tuple(fc.constantFrom(...kinds), fc.constantFrom('a', 'b', '')), {
      minLength: 20,
      maxLength: 20,
    }),
    givenUp: fc.uniqueArray(fc.nat(recipientCount - 1)),
    others: fc.array(fc.tuple(fc.nat(20), fc.nat(recipientCount - 1), fc.nat(3)), { maxLength: 5 }),
  })
  .map(({ order, cuts, outcomes, givenUp, others }) => {
    const records: ActiveRecord[] = []
    const deferred = new Set<number>()
    let from = 0
    cuts.forEach((length, i) => {
      const indexes = order.slice(from, from + length)
      from += length
      const [kind, text] = outcomes[i]!
      if (kind === 'deferred') for (const index of indexes) deferred.add(index)
      if (indexes.length > 0)
        records.push({
          kind: 'delivery',
          notes: [{ kind, status: '4.0.0', text, ranges: toRanges(indexes) }],
        })
    })
    for (const index of givenUp)
      if (deferred.has(index))
        records.push({
          kind: 'delivery',
          notes: [{ kind: 'failed', status: '5.4.7', text: 'late', ranges: [index, index] }],
        })
    for (const [at, index, warnings] of others)
      records.splice(at % (records.length + 1), 0, { kind: 'reported', reported: [index, index], warnings })
    const [first] = others
    if (first !== undefined) records.push({ kind: 'replacement', lane: first[0] + 2, timeMs: first[1] })
    return records
  })

/** All that can be asked of a message. */
const stateOf = (message: ActiveMessage): object => ({
  pending: message.indexesIn('pending'),
  delivered: message.indexesIn('delivered'),
  deferred: message.indexesIn('deferred'),
  failed: message.indexesIn('failed'),
  counts: [message.pendingCount, message.deliveredCount, message.deferredCount, message.failedCount],
  unreported: message.unreportedFailures(),
  warnings: message.warnings,
  replacement: message.replacement,
  reasons: (['deferred', 'failed'] as const).map((kind) => message.notesOf(kind)),
})

test('a message that carries what was known is in the same state, through any number of carries and what is on disk', () => {
  fc.assert(
    fc.property(anyRecords, fc.nat(20), fc.nat(20), (records, one, other) => {
      const lived = newMessage(recipientCount)
      let carried = newMessage(recipientCount)
      records.forEach((record, i) => {
        lived.apply(record)
        carried.apply(record)
        if (i === one || i === other) carried = restarted(carried)
      })
      carried = restarted(carried)
      const { reported, ...rest } = carried.carried()
      const { reported: livedReported, ...livedRest } = lived.carried()
      expect(stateOf(carried)).toEqual(stateOf(lived))
      expect(reported).toEqual(livedReported)
      expect({ ...rest, start: 0 }).toEqual({ ...livedRest, start: 0 })
    }),
  )
})

/** The start that takes the place of the message's, written and read. */
function restarted(message: ActiveMessage): ActiveMessage {
  const start = {
    envelope: place.position,
    envelopeBytes: place.bytes,
    outOfOrder: false,
    carried: message.carried(),
  }
  const { carried } = decodeStart(Buffer.from(encodeStart(start)))
  return new ActiveMessage(message.envelope, place, position(message.start + 1000), carried)
}

test('counts are those of the states, each recipient is in one, and no more than one note says why', () => {
  fc.assert(
    fc.property(anyRecords, (records) => {
      const message = newMessage(recipientCount)
      for (const record of records) message.apply(record)
      const all = (['pending', ...kinds] as const).flatMap((state) => message.indexesIn(state))
      expect(all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: recipientCount }, (_, i) => i))
      expect(message.failedCount).toBe(message.indexesIn('failed').length)
      expect(message.deferredCount).toBe(message.indexesIn('deferred').length)
      expect(message.pendingCount).toBe(message.indexesIn('pending').length)
      const noted: number[] = []
      for (const { ranges } of message.carried().notes) forEachIn(ranges, (index) => noted.push(index))
      expect(noted).toHaveLength(recipientCount - message.pendingCount)
      expect(new Set(noted).size).toBe(noted.length)
    }),
  )
})

test('a second outcome for a recipient stops the process', () => {
  const message = newMessage(3)
  const outcome = {
    kind: 'delivery',
    notes: [{ kind: 'delivered', status: '', text: '', ranges: [1, 1] }],
  } as const
  message.apply(outcome)
  expect(() => message.apply(outcome)).toThrow('an outcome is recorded for a recipient that waits for one')
})

test('a deferred recipient may fail, and nothing else becomes of it before it is attempted again', () => {
  const outcome = (kind: 'delivered' | 'deferred' | 'failed'): ActiveRecord => ({
    kind: 'delivery',
    notes: [{ kind, status: '', text: kind, ranges: [0, 2] }],
  })
  for (const kind of ['delivered', 'deferred'] as const) {
    const message = newMessage(3)
    message.apply(outcome('deferred'))
    expect(() => message.apply(outcome(kind))).toThrow('for a recipient that waits for one')
  }
  const message = newMessage(3)
  message.apply(outcome('deferred'))
  message.apply(outcome('failed'))
  expect(message.unreportedFailures()).toEqual([0, 1, 2])
  expect(() => message.apply(outcome('failed'))).toThrow('for a recipient that waits for one')
})

test('a failure is reported until the sender was told of it', () => {
  const message = newMessage(5)
  message.apply({
    kind: 'delivery',
    notes: [{ kind: 'failed', status: '5.1.1', text: 'no', ranges: [0, 3] }],
  })
  message.apply({ kind: 'reported', reported: [1, 2], warnings: 0 })
  expect(message.unreportedFailures()).toEqual([0, 3])
  message.apply({ kind: 'reported', reported: [0, 0, 3, 3], warnings: 0 })
  expect(message.unreportedFailures()).toEqual([])
})

test('of many different reasons texts are given up when they are carried, states never', () => {
  const message = newMessage(500)
  for (let i = 0; i < 500; i++)
    message.apply({
      kind: 'delivery',
      notes: [{ kind: kinds[i % 3]!, status: '4.0.0', text: `reason ${i}`, ranges: [i, i] }],
    })
  const again = restarted(message)
  expect(message.carried().notes.length).toBeLessThanOrEqual(101)
  for (const state of kinds) expect(again.indexesIn(state)).toEqual(message.indexesIn(state))
})

test('deliveries that the sender wants to hear of are carried once, with the way that each went', () => {
  const dsn = { ret: undefined, envid: '', notify: [{ asked: 1, ranges: [0, 3] }], orcpts: [] }
  const message = new ActiveMessage({ ...envelopeOf(4), dsn }, place, position(9000), undefined)
  const note = { kind: 'delivered', status: '', text: '250 fine' } as const
  message.apply({
    kind: 'delivery',
    notes: [
      { ...note, ranges: [0, 0] },
      { ...note, ranges: [1, 1], relayed: 'with-dsn' },
      { ...note, ranges: [2, 2], relayed: 'without-dsn' },
    ],
  })
  const again = restarted(restarted(message))
  expect(stateOf(again)).toEqual(stateOf(message))
  expect(again.notesOf('delivered')).toEqual(message.notesOf('delivered'))
  // The next server tells of the one that it has taken over.
  expect(again.unreportedSuccesses()).toEqual([0, 2])
})

test('of what was before its start a message knows recoveries and outcomes, and warnings that its envelope tells of, too', () => {
  const carried = { ...newMessage(2).carried(), warnings: 1, recoveries: 3 }
  const warned = { ...envelopeOf(2), warnings: 2 }
  const message = new ActiveMessage(warned, place, position(9000), carried)
  expect([message.recoveries, message.warnings]).toEqual([3, 2])
  // Those of the envelope are not of its last attempt.
  expect([message.isReportedOn, message.hasOutcome]).toEqual([false, false])
  message.apply({ kind: 'reported', reported: [], warnings: 3 })
  expect(message.isReportedOn).toBe(true)
  message.apply({ kind: 'delivery', notes: [{ kind: 'failed', status: '5.1.1', text: '', ranges: [1, 1] }] })
  const again = restarted(message)
  expect([message.recoveries, again.hasOutcome, again.isReportedOn]).toEqual([0, true, true])
})

test('a failure of a recipient that wants no report is not reported', () => {
  const dsn = { ret: undefined, envid: '', notify: [{ asked: 8, ranges: [1, 1] }], orcpts: [] }
  const message = new ActiveMessage({ ...envelopeOf(3), dsn }, place, position(9000), undefined)
  message.apply({ kind: 'delivery', notes: [{ kind: 'failed', status: '5.1.1', text: '', ranges: [0, 2] }] })
  expect(message.unreportedFailures()).toEqual([0, 2])
})

test('a message is finished with its last delivery, unless there is a file to unlink or somebody to tell', () => {
  const all = [{ kind: 'delivered', status: '', text: '', ranges: [0, 1] }] as const
  const dsn = { ret: undefined, envid: '', notify: [{ asked: 1, ranges: [0, 0] }], orcpts: [] }
  const isFinished = (changes: object, notes: Parameters<ActiveMessage['isFinishedBy']>[0] = all): boolean =>
    new ActiveMessage({ ...envelopeOf(2), ...changes }, place, position(9000), undefined).isFinishedBy(notes)
  expect(isFinished({})).toBe(true)
  expect(isFinished({}, [{ ...all[0], ranges: [0, 0] }])).toBe(false)
  expect(isFinished({}, [{ ...all[0], kind: 'failed' }])).toBe(false)
  expect(isFinished({ data: { kind: 'spool', number: 1 } })).toBe(false)
  expect(isFinished({ dsn })).toBe(false)
})

test('what is left of a message is finished with it, unless it is to be replaced, and its finish is known from then on', () => {
  const delivered = (index: number, finishes = false): ActiveRecord & { kind: 'delivery' } => ({
    kind: 'delivery',
    notes: [{ kind: 'delivered', status: '', text: '', ranges: [index, index] }],
    finishes,
  })
  const message = newMessage(2)
  message.apply(delivered(0))
  const last = delivered(1, true)
  expect([message.isFinishedBy(last.notes), message.isFinished]).toEqual([true, false])
  const replaced = restarted(message)
  replaced.apply({ kind: 'replacement', lane: 2, timeMs: 7 })
  expect(replaced.isFinishedBy(last.notes)).toBe(false)
  message.apply(last)
  expect(message.isFinished).toBe(true)
})

test('failures cost the same whether recipients wait or not: reasons are walked when they are asked for', () => {
  let readCount = 0
  const counted = (ranges: number[]): number[] =>
    new Proxy(ranges, {
      get: (target, name, self) => {
        readCount++
        return Reflect.get(target, name, self) as unknown
      },
    })
  const message = newMessage(2000)
  const noteOf = (kind: 'deferred' | 'failed', ranges: number[]): ActiveRecord => ({
    kind: 'delivery',
    notes: [{ kind, status: '4.0.0', text: 'why', ranges }],
  })
  message.apply(noteOf('deferred', counted([0, 999])))
  const readOnce = readCount
  for (let index = 1000; index < 2000; index++) message.apply(noteOf('failed', [index, index]))
  expect(readCount).toBe(readOnce)
  message.apply(noteOf('failed', [10, 19]))
  expect(message.notesOf('deferred').map(({ ranges }) => ranges)).toEqual([[0, 9, 20, 999]])
})

test('the next recipient that waits for an attempt is found from any index', () => {
  const message = newMessage(6)
  message.apply({
    kind: 'delivery',
    notes: [{ kind: 'delivered', status: '', text: '', ranges: [0, 1, 3, 3] }],
  })
  expect([0, 2, 3, 5, 6].map((index) => message.pendingFrom(index))).toEqual([2, 2, 4, 5, 6])
})
