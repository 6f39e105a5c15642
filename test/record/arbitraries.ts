/** Records as a property test draws them: all kinds of places and notes, numbers up to the
 * bounds. */
import fc from 'fast-check'
import type { MessageId } from '../../src/base/message-id.js'
import { position, type Position } from '../../src/base/position.js'
import { toRanges } from '../../src/base/ranges.js'
import type { Checkpoint } from '../../src/record/checkpoint.js'
import type { EnvelopeDsn } from '../../src/record/dsn.js'
import type { DataPlace, Envelope } from '../../src/record/envelope.js'
import type { OutcomeNote } from '../../src/record/outcome-note.js'
import type { Start } from '../../src/record/start.js'
import { termsOf, type EnvelopeTerms } from '../../src/record/terms.js'

export const anyCount: fc.Arbitrary<number> = fc.oneof(
  fc.nat(300),
  fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  fc.constantFrom(0, 0xffff_ffff, 0x1_0000_0000, Number.MAX_SAFE_INTEGER),
)
export const anyPosition: fc.Arbitrary<Position> = anyCount.map(position)
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ minLength: 250, maxLength: 300 }),
)
export const anyRanges: fc.Arbitrary<number[]> = fc
  .uniqueArray(fc.nat(2000), { maxLength: 60 })
  .map((indexes) => toRanges(indexes))

const noteFields = {
  status: fc.constantFrom('', '4.4.1', '5.1.1'),
  text: anyText,
  ranges: anyRanges,
}
const anyRemote = fc.stringMatching(/^[!-~]{1,60}$/)

/** Only of a delivery that was relayed a note names the server. */
export const anyNote: fc.Arbitrary<OutcomeNote> = fc.oneof(
  fc.record({ kind: fc.constant('delivered' as const), ...noteFields }),
  fc.record(
    {
      kind: fc.constant('delivered' as const),
      ...noteFields,
      relayed: fc.constantFrom('with-dsn' as const, 'without-dsn' as const),
      remote: anyRemote,
    },
    { requiredKeys: ['kind', 'status', 'text', 'ranges', 'relayed'] },
  ),
  fc.record(
    {
      kind: fc.constantFrom('deferred' as const, 'failed' as const),
      ...noteFields,
      remote: anyRemote,
    },
    { requiredKeys: ['kind', 'status', 'text', 'ranges'] },
  ),
)

const anyDsn: fc.Arbitrary<EnvelopeDsn> = fc.record({
  ret: fc.constantFrom(undefined, 'full' as const, 'headers' as const),
  envid: anyText,
  notify: fc.array(fc.record({ asked: fc.integer({ min: 1, max: 8 }), ranges: anyRanges }), { maxLength: 4 }),
  orcpts: fc.array(anyText, { maxLength: 20 }),
})

const anyDataPlace: fc.Arbitrary<DataPlace> = fc.oneof(
  anyCount.map((distanceBytes): DataPlace => ({ kind: 'before', distanceBytes })),
  anyPosition.map((at): DataPlace => ({ kind: 'lane', position: at })),
  anyCount.map((number): DataPlace => ({ kind: 'spool', number })),
  anyText.map((ref): DataPlace => ({ kind: 'ref', ref })),
)

/** Terms that say nothing are read back as none. */
const anyTerms: fc.Arbitrary<EnvelopeTerms | undefined> = fc
  .record({
    tags: fc.array(anyText, { maxLength: 16 }),
    notBefore: anyCount,
    expiresAt: anyCount,
    warnAt: anyCount,
    trace: fc.option(fc.record({ traceparent: anyText, tracestate: anyText }), { nil: undefined }),
  })
  .map(termsOf)

export const anyEnvelope: fc.Arbitrary<Envelope> = fc
  .record({
    id: anyText.map((text) => text as MessageId),
    sender: anyText,
    acceptedAt: anyCount,
    attempts: anyCount,
    smtputf8: fc.boolean(),
    recipients: fc.array(anyText, { maxLength: 20 }),
    recipientFrames: fc.array(anyCount, { maxLength: 5 }),
    data: anyDataPlace,
    dataBytes: anyCount,
    checksum: fc.integer({ min: 0, max: 0xffff_ffff }),
    replaces: anyPosition,
    notes: fc.array(anyNote, { maxLength: 4 }),
    warnings: fc.nat(5),
    reported: anyRanges,
    route: fc.option(fc.record({ transport: anyText, nexthop: anyText }), { nil: undefined }),
    requeues: fc.nat(999),
    dsn: fc.option(anyDsn, { nil: undefined }),
    terms: fc.option(anyTerms, { nil: undefined }),
    held: fc.boolean(),
    priority: fc.constantFrom('high', 'normal', 'low'),
  })
  .map((envelope) => ({ ...envelope, recipientCount: envelope.recipients.length }))

export const anyStart: fc.Arbitrary<Start> = fc.record({
  envelope: anyPosition,
  envelopeBytes: anyCount,
  outOfOrder: fc.boolean(),
  carried: fc.option(
    fc.record({
      start: anyPosition,
      notes: fc.array(anyNote, { maxLength: 4 }),
      reported: anyRanges,
      warnings: fc.nat(5),
      recoveries: fc.nat(50),
      replacement: fc.option(fc.record({ lane: fc.nat(0x7fff), timeMs: anyCount }), { nil: undefined }),
    }),
    { nil: undefined },
  ),
})

export const anyCheckpoint: fc.Arbitrary<Checkpoint> = fc.record({
  life: anyCount,
  suffix: anyPosition,
  lanes: fc.array(
    fc.record({
      lane: fc.nat(0x7fff),
      intervalMs: anyCount,
      inJournal: fc.boolean(),
      runner: anyPosition,
      envelopesEnd: anyPosition,
      dataEnd: anyPosition,
      dataFloor: anyPosition,
      marks: anyPosition,
    }),
    { maxLength: 34 },
  ),
  laneNext: fc.nat(0x8000),
  spoolHighest: anyCount,
  spoolPending: fc.array(anyCount, { maxLength: 5 }),
})
