/** Every record comes back as it was written, and what is no record is LOG_CORRUPT, never
 * another error. */
import fc from 'fast-check'
import { Packr } from 'msgpackr'
import { expect, test } from 'vitest'
import { isWaybillError } from '../../src/errors.js'
import { decodeCheckpoint, encodeCheckpoint } from '../../src/record/checkpoint.js'
import { decodeDelivery, encodeDelivery } from '../../src/record/delivery.js'
import { askedOfEach, notifyNotes } from '../../src/record/dsn.js'
import { bytesBeside, decodeEnvelope, encodeEnvelope } from '../../src/record/envelope.js'
import { decodeFinish, encodeFinish } from '../../src/record/finish.js'
import { decodeMarks, encodeMarks } from '../../src/record/marks.js'
import {
  condensed,
  notesBytesMost,
  notesMax,
  noteTextCharsMax,
  type OutcomeNote,
} from '../../src/record/outcome-note.js'
import { decodeOrcpts, decodeRecipients, encodeRecipients } from '../../src/record/recipients.js'
import { decodeReplaced, encodeReplaced } from '../../src/record/replaced.js'
import { decodeStart, encodeStart } from '../../src/record/start.js'
import { position } from '../../src/base/position.js'
import { frameBytes } from '../../src/record/frame.js'
import { forEachIn } from '../../src/base/ranges.js'
import {
  anyCheckpoint,
  anyCount,
  anyEnvelope,
  anyNote,
  anyPosition,
  anyRanges,
  anyStart,
  anyText,
} from './arbitraries.js'

test('a long payload is read the same before and after the native reader has come', async () => {
  const recipients = Array.from({ length: 500 }, (_, i) => `user-${i}@exämple-${i % 7}.example.org`)
  const encoded = encodeRecipients(recipients)
  const before = decodeRecipients(encoded)
  await import('msgpackr')
  expect(before).toEqual(recipients)
  expect(decodeRecipients(encoded)).toEqual(before)
})

const anyDelivery = fc.record({
  start: anyPosition,
  notes: fc.array(anyNote, { maxLength: 5 }),
  finishes: fc.boolean(),
})
const anyFinish = fc.record({ start: anyPosition, reported: anyRanges, spool: anyCount })
const anyReplaced = fc.record({
  start: anyPosition,
  target: anyPosition,
  targetEnd: anyPosition,
  reported: anyRanges,
  warnings: fc.nat(9),
})
const anyMarks = fc.record({ previous: anyPosition, envelopes: fc.array(anyPosition) })
const anyRecipients = fc.array(anyText, { maxLength: 30 })

interface Codec {
  readonly any: fc.Arbitrary<unknown>
  readonly encode: (value: never) => Buffer
  readonly decode: (payload: Buffer) => unknown
}

const codecs: readonly [string, Codec][] = [
  ['envelope', { any: anyEnvelope, encode: encodeEnvelope, decode: decodeEnvelope }],
  ['start', { any: anyStart, encode: encodeStart, decode: decodeStart }],
  ['delivery', { any: anyDelivery, encode: encodeDelivery, decode: decodeDelivery }],
  ['finish', { any: anyFinish, encode: encodeFinish, decode: decodeFinish }],
  ['replaced', { any: anyReplaced, encode: encodeReplaced, decode: decodeReplaced }],
  ['marks', { any: anyMarks, encode: encodeMarks, decode: decodeMarks }],
  ['checkpoint', { any: anyCheckpoint, encode: encodeCheckpoint, decode: decodeCheckpoint }],
  ['recipients', { any: anyRecipients, encode: encodeRecipients, decode: decodeRecipients }],
]

test.each(codecs)('a record (%s) comes back as it was written', (_, { any, encode, decode }) => {
  fc.assert(
    fc.property(any, (value) => {
      expect(decode(Buffer.from(encode(value as never)))).toEqual(value)
    }),
  )
})

test.each(codecs)('a record (%s) is written as the MessagePack library writes it', (_, { any, encode }) => {
  fc.assert(
    fc.property(any, (value) => {
      const written = Buffer.from(encode(value as never))
      expect(written.equals(packr.pack(packr.unpack(written)))).toBe(true)
    }),
  )
})

const decoders = codecs.map(
  ([name, { any, encode, decode }]) =>
    [name, decode, any.map((value) => Buffer.from(encode(value as never)))] as const,
)

/** undefined when it decoded, else the code. */
function codeOf(decode: () => unknown): string | undefined {
  try {
    decode()
    return undefined
  } catch (error) {
    return isWaybillError(error) ? error.code : `${String(error)}`
  }
}

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true })
const anyValue = fc.anything({
  maxDepth: 3,
  values: [
    fc.string(),
    fc.double(),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.constant('length'),
  ],
})

test.each(decoders)(
  'a %s record that is no such record is LOG_CORRUPT and nothing else',
  (_, decode, valid) => {
    const fine = (payload: Buffer): void => {
      expect([undefined, 'LOG_CORRUPT']).toContain(codeOf(() => decode(payload)))
    }
    // Any bytes; any MessagePack; a valid one cut, with a byte changed, with a field of another
    // type.
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => fine(Buffer.from(bytes))))
    fc.assert(fc.property(fc.array(anyValue, { maxLength: 18 }), (fields) => fine(packr.pack(fields))))
    fc.assert(
      fc.property(valid, fc.nat(), fc.nat(255), (payload, place, byte) => {
        const changed = Buffer.from(payload)
        changed[place % changed.length] = byte
        fine(changed)
      }),
    )
    fc.assert(
      fc.property(valid, fc.nat(), (payload, length) => {
        const cut = Buffer.from(payload.subarray(0, length % payload.length))
        expect(codeOf(() => decode(cut))).toBe('LOG_CORRUPT')
      }),
    )
  },
)

test.each(decoders)('a %s record with a field of another type is LOG_CORRUPT', (_, decode, valid) => {
  fc.assert(
    fc.property(valid, fc.nat(), fc.constantFrom(null, true, -1, 1.5, {}), (payload, place, other) => {
      const fields = packr.unpack(payload) as unknown[]
      fields[place % fields.length] = other
      expect(codeOf(() => decode(packr.pack(fields)))).toBe('LOG_CORRUPT')
    }),
  )
})

test.each(decoders)('fields behind those of a %s record are ignored', (name, decode, valid) => {
  fc.assert(
    fc.property(valid, (payload) => {
      const fields = packr.unpack(payload) as unknown[]
      // An envelope that no operator has touched, and of which nothing is asked, is written without
      // its last fields.
      if (name === 'envelope' && fields.length === 16) fields.push([], 0)
      if (name === 'envelope' && fields.length === 18) fields.push([])
      if (name === 'envelope' && fields.length === 19) fields.push('')
      if (name === 'envelope' && fields.length === 20) fields.push([], 0, 0, 0)
      if (name === 'envelope' && fields.length === 24) fields.push([])
      // A checkpoint of a queue that has seen no key ends before them, and before consumers.
      if (name === 'checkpoint' && fields.length === 6) fields.push([], [], [])
      // Only consumers of outcomes need the last field of these.
      if ((name === 'delivery' || name === 'finish') && fields.length === 3) fields.push([])
      expect(decode(packr.pack([...fields, 'later', 7]))).toEqual(decode(payload))
    }),
  )
})

test('what is suspended stands in a checkpoint behind what it says of keys and outcomes', () => {
  const anySuspension = fc.record({
    transport: anyText,
    nexthop: anyText,
    sinceAt: anyCount,
    untilAt: anyCount,
  })
  const anySuspensions = fc.array(anySuspension, { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(anyCheckpoint, anySuspensions, (checkpoint, suspensions) => {
      const said = { ...checkpoint, suspensions }
      expect(decodeCheckpoint(encodeCheckpoint(said))).toEqual(said)
    }),
  )
})

test('original recipients stand beside the recipients of a frame, and not in one that has none', () => {
  fc.assert(
    fc.property(anyRecipients, anyRecipients, (recipients, orcpts) => {
      const written = Buffer.from(encodeRecipients(recipients, orcpts))
      expect(decodeRecipients(written)).toEqual(recipients)
      expect(decodeOrcpts(written)).toEqual(orcpts)
    }),
  )
})

test('what was asked for each recipient is the same in ranges', () => {
  fc.assert(
    fc.property(fc.uint8Array({ max: 8, maxLength: 50 }), (asked) => {
      const dsn = { ret: undefined, envid: '', notify: notifyNotes(asked), orcpts: [] }
      expect([...askedOfEach(dsn, asked.length)]).toEqual([...asked])
      // Recipients without requests have no entry.
      expect(dsn.notify.map((note) => note.asked)).toEqual([...new Set(asked)].filter((one) => one !== 0))
    }),
  )
})

test('notes of earlier writers name no server', () => {
  const fields = [
    [0, '', '250 taken', [0, 0]],
    [0, '', '250 taken', [1, 1], 1],
    [1, '4.2.1', '451 4.2.1 later', [2, 2]],
  ]
  expect(decodeDelivery(packr.pack([8, fields])).notes).toEqual([
    { kind: 'delivered', status: '', text: '250 taken', ranges: [0, 0] },
    { kind: 'delivered', status: '', text: '250 taken', ranges: [1, 1], relayed: 'without-dsn' },
    { kind: 'deferred', status: '4.2.1', text: '451 4.2.1 later', ranges: [2, 2] },
  ])
})

test('the server of a note takes a place that an earlier reader knows or ignores', () => {
  const note = { kind: 'failed' as const, status: '5.1.1', text: '550 no', ranges: [0, 0], remote: 'mx:25' }
  const encoded = encodeDelivery({ start: position(8), notes: [note], finishes: false })
  expect((packr.unpack(encoded) as unknown[])[1]).toEqual([[2, '5.1.1', '550 no', [0, 0], 1, 'mx:25']])
})

test('condensed notes of deliveries keep where each went', () => {
  const ways = [undefined, 'with-dsn', 'without-dsn'] as const
  const notes = Array.from({ length: 300 }, (_, i): OutcomeNote => {
    const note = { kind: 'delivered' as const, status: '', text: `250 ${i}`, ranges: [i, i] }
    const relayed = ways[(i * 7) % 3]
    return relayed === undefined ? note : { ...note, relayed }
  })
  const kept = condensed(notes)
  expect(kept.length).toBeLessThanOrEqual(notesMax)
  for (const { ranges, relayed } of kept)
    forEachIn(ranges, (index) => expect(relayed).toBe(notes[index]!.relayed))
})

test('a note whose kind is a name of the array of kinds is LOG_CORRUPT', () => {
  for (const kind of ['length', 'at', '0', 3, -1, 0.5])
    expect(codeOf(() => decodeDelivery(packr.pack([8, [[kind, '', '', [0, 0]]]])))).toBe('LOG_CORRUPT')
})

/** An envelope with every field, as a library reads it. */
const envelopeFields = (): unknown[] => {
  const dsn = { ret: 'full' as const, envid: 'e', notify: [{ asked: 1, ranges: [0, 0] }], orcpts: [] }
  return packr.unpack(encodeEnvelope({ ...fc.sample(anyEnvelope, 1)[0]!, dsn })) as unknown[]
}
const checkpointFields = (): unknown[] =>
  packr.unpack(encodeCheckpoint(fc.sample(anyCheckpoint, 1)[0]!)) as unknown[]
const noteOf = (...fields: unknown[]): unknown[] => [8, [fields]]
const dsnOf = (...fields: unknown[]): unknown[] => envelopeFields().with(18, fields)

test.each<[string, (payload: Buffer) => unknown, unknown[]]>([
  ['a note that is no list', decodeDelivery, [8, [7]]],
  ['a note of half a range', decodeDelivery, noteOf(0, '', '', [0])],
  ['a range that ends before it begins', decodeDelivery, noteOf(0, '', '', [5, 4])],
  ['ranges that go back', decodeDelivery, noteOf(0, '', '', [4, 5, 2, 3])],
  ['ranges that share an index', decodeDelivery, noteOf(0, '', '', [4, 5, 5, 6])],
  ['ranges that are no list', decodeDelivery, noteOf(0, '', '', 'ab')],
  ['a text of a note that is none', decodeDelivery, noteOf(0, '', 5, [0, 0])],
  ['recipients that are no texts', decodeRecipients, [[7]]],
  ['original recipients that are no texts', decodeOrcpts, [['ada@example.org'], [7]]],
  ['marks below 0', decodeMarks, [0, [-8]]],
  ['a status that is no text', decodeDelivery, noteOf(0, 5, '', [0, 0])],
  ['a way that there is not', decodeDelivery, noteOf(0, '', '', [0, 0], 3)],
  ['a server that is no text', decodeDelivery, noteOf(1, '', '', [0, 0], 1, 7)],
  ['a way that is no number', decodeDelivery, noteOf(0, '', '', [0, 0], 'length')],
  ['a lane that is no list', decodeCheckpoint, checkpointFields().with(2, [7])],
  ['a lane that is nothing', decodeCheckpoint, checkpointFields().with(2, [null])],
  ['a lane in bytes', decodeCheckpoint, checkpointFields().with(2, [packr.pack([1, 2, 3, 4, 5, 6, 7, 8])])],
  ['a lane without its last fields', decodeCheckpoint, checkpointFields().with(2, [[1, 2, 3]])],
  ['a suspension that is no list', decodeCheckpoint, [...checkpointFields(), [], [], [7]]],
  ['a suspension without its end', decodeCheckpoint, [...checkpointFields(), [], [], [['out', '', 5]]]],
  ['data in a place that there is not', decodeEnvelope, envelopeFields().with(8, 4)],
  ['a return that there is not', decodeEnvelope, dsnOf(3, 'e', [], [])],
  ['a request that is no list', decodeEnvelope, dsnOf(0, 'e', [7], [])],
  ['a request for nothing', decodeEnvelope, dsnOf(0, 'e', [[0, [0, 0]]], [])],
  ['a request for what there is not', decodeEnvelope, dsnOf(0, 'e', [[9, [0, 0]]], [])],
  ['a request of half a range', decodeEnvelope, dsnOf(0, 'e', [[1, [0]]], [])],
])('%s is LOG_CORRUPT', (_, decode, fields) => {
  expect(codeOf(() => decode(packr.pack(fields)))).toBe('LOG_CORRUPT')
})

test('a flag of an envelope that is not known yet hides none that is', () => {
  for (const flags of [0, 1, 2, 3])
    expect(decodeEnvelope(packr.pack(envelopeFields().with(4, flags))).smtputf8).toBe(flags % 2 === 1)
})

test('an envelope that does not have the recipients it counts is LOG_CORRUPT', () => {
  fc.assert(
    fc.property(anyEnvelope, fc.integer({ min: 1, max: 9 }), (envelope, more) => {
      const wrong = { ...envelope, recipientFrames: [], recipientCount: envelope.recipientCount + more }
      expect(codeOf(() => decodeEnvelope(encodeEnvelope(wrong)))).toBe('LOG_CORRUPT')
    }),
  )
})

test.each([1, 100, 101, 5000])('the notes of %d recipients take no more than is kept for them', (count) => {
  // Each alone in its range, far behind, and each with another text, as long as it may be.
  const notes = Array.from({ length: count }, (_, i): OutcomeNote => ({
    kind: 'failed',
    status: '5.999.999',
    text: `${i}`.padEnd(noteTextCharsMax, '\uffff'),
    ranges: [2 ** 31 + 2 * i, 2 ** 31 + 2 * i],
  }))
  const rest = encodeDelivery({ start: position(8), notes: [], finishes: false }).length
  for (const some of [condensed(notes), condensed(notes.toReversed())])
    expect(
      encodeDelivery({ start: position(8), notes: some, finishes: false }).length - rest,
    ).toBeLessThanOrEqual(notesBytesMost(count))
})

test('beside its envelope a message takes the frames of its recipients in a lane, and of its data if that is there', () => {
  const envelope = { ...fc.sample(anyEnvelope, 1)[0]!, recipientFrames: [5000, 2000], dataBytes: 100 }
  expect(bytesBeside({ ...envelope, data: { kind: 'spool', number: 1 } })).toBe(5000)
  const inLane = { ...envelope, data: { kind: 'lane', position: position(0) } } as const
  expect(bytesBeside(inLane)).toBe(5000 + frameBytes(100))
  expect(bytesBeside({ ...inLane, recipientFrames: [] })).toBe(frameBytes(100))
})

test.each([1, 97, 100, 101, 300])(
  'of %d notes condensed are at most a hundred, and keep the kind of every recipient',
  (count) => {
    const kinds = ['delivered', 'deferred', 'failed'] as const
    const notes = Array.from({ length: count }, (_, i): OutcomeNote => ({
      kind: kinds[(i * 7) % 3]!,
      status: '4.0.0',
      text: `said ${i}`,
      ranges: [2 * i, 2 * i],
    }))
    const few = condensed(notes)
    expect(few.length).toBeLessThanOrEqual(100)
    expect(kindsByIndex(few)).toEqual(kindsByIndex(notes))

    expect(few === notes).toBe(count <= 100)
  },
)

function kindsByIndex(notes: readonly OutcomeNote[]): Map<number, string> {
  const byIndex = new Map<number, string>()
  for (const { kind, ranges } of notes)
    forEachIn(ranges, (index) => {
      expect(byIndex.has(index)).toBe(false)
      byIndex.set(index, kind)
    })
  return byIndex
}

test.each([
  ['a fixnum', [8]],
  ['an unsigned integer of 64 bits', [0xcf, 0, 0, 0, 0, 0, 0, 0, 8]],
  ['a signed integer of 64 bits', [0xd3, 0, 0, 0, 0, 0, 0, 0, 8]],
  ['a float of 32 bits', [0xca, 0x41, 0, 0, 0]],
  ['a float of 64 bits', [0xcb, 0x40, 0x20, 0, 0, 0, 0, 0, 0]],
])('%s is the number that it says', (_, octets) => {
  expect(decodeDelivery(Buffer.from([0x92, ...octets, 0x90]))).toEqual({
    start: 8,
    notes: [],
    finishes: false,
  })
})

test('a delivery that does not say whether it finishes the message does not', () => {
  expect(decodeDelivery(packr.pack([8, []]))).toEqual({ start: 8, notes: [], finishes: false })
})
