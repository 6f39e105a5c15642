/** The cost of records and frames, one at a time. */
import { nowhere, position } from '../src/base/position.js'
import { decodeCheckpoint, encodeCheckpoint } from '../src/record/checkpoint.js'
import { decodeDelivery, encodeDelivery } from '../src/record/delivery.js'
import { decodeEnvelope, encodeEnvelope } from '../src/record/envelope.js'
import { decodeFinish, encodeFinish } from '../src/record/finish.js'
import { frameBytes, kinds, sealFrame, verifyFrame } from '../src/record/frame.js'
import { decodeMarks, encodeMarks } from '../src/record/marks.js'
import { decodeRecipients, encodeRecipients } from '../src/record/recipients.js'
import { decodeReplaced, encodeReplaced } from '../src/record/replaced.js'
import { decodeStart, encodeStart } from '../src/record/start.js'
import type { BenchArguments } from './bench.js'
import { recipientsOf, recordPayloads } from './contenders/payloads.js'
import type { Row } from './output.js'
import { nanosecondsOf } from './small.js'

const at = position(5_000_000_000)
const envelopeOf = (recipientCount: number): ReturnType<typeof decodeEnvelope> =>
  decodeEnvelope(recordPayloads({ messageBytes: 1024, recipientCount }).envelope)

interface Codec<T> {
  readonly record: string
  readonly value: T
  readonly encode: (value: T) => Buffer
  readonly decode: (payload: Buffer) => T
}

/** Hides the type of the record, so that all stand in one list. */
const codec = <T>(given: Codec<T>): (() => Promise<Row>) => {
  return async () => {
    const { record, value, encode, decode } = given
    const payload = Buffer.from(encode(value))
    const figures = await nanosecondsOf({ encode: () => encode(value), decode: () => decode(payload) })
    return { record, bytes: payload.length, 'encode ns': figures['encode']!, 'decode ns': figures['decode']! }
  }
}

const checkpoint = {
  life: 3,
  suffix: at,
  lanes: Array.from({ length: 7 }, (_, lane) => ({
    lane,
    intervalMs: 300_000 * lane,
    inJournal: lane === 0,
    runner: at,
    envelopesEnd: at,
    dataEnd: at,
    dataFloor: at,
    marks: nowhere,
  })),
  laneNext: 7,
  spoolHighest: 12,
  spoolPending: [],
}
const delivered = {
  kind: 'delivered',
  status: '',
  text: '250 2.0.0 Ok: queued as 4F1A',
  ranges: [0, 0],
} as const

const codecs = [
  codec({
    record: 'envelope, 1 recipient',
    value: envelopeOf(1),
    encode: encodeEnvelope,
    decode: decodeEnvelope,
  }),
  codec({ record: 'envelope, 100', value: envelopeOf(100), encode: encodeEnvelope, decode: decodeEnvelope }),
  codec({
    record: 'recipients, 1000',
    value: recipientsOf(1000),
    encode: encodeRecipients,
    decode: decodeRecipients,
  }),
  codec({
    record: 'start',
    value: { envelope: at, envelopeBytes: 120, outOfOrder: false, carried: undefined },
    encode: encodeStart,
    decode: decodeStart,
  }),
  codec({
    record: 'delivery',
    value: { start: at, notes: [delivered], finishes: false },
    encode: encodeDelivery,
    decode: decodeDelivery,
  }),
  codec({
    record: 'finish',
    value: { start: at, reported: [], spool: 0 },
    encode: encodeFinish,
    decode: decodeFinish,
  }),
  codec({
    record: 'replaced',
    value: { start: at, target: at, targetEnd: at, reported: [], warnings: 0 },
    encode: encodeReplaced,
    decode: decodeReplaced,
  }),
  codec({
    record: 'marks, 1000',
    value: { previous: at, envelopes: Array.from({ length: 1000 }, (_, i) => position(at + i * 128)) },
    encode: encodeMarks,
    decode: decodeMarks,
  }),
  codec({
    record: 'checkpoint, 7 lanes',
    value: checkpoint,
    encode: encodeCheckpoint,
    decode: decodeCheckpoint,
  }),
]

/** A frame with its payload in place: what `sealFrame` and `verifyFrame` take for the checksum
 * and the header. */
async function frame(payloadBytes: number): Promise<Row> {
  const bytes = frameBytes(payloadBytes)
  const buffer = Buffer.alloc(bytes, 'waybill ')
  const seal = (): void => sealFrame(buffer, 0, kinds.data, 0, 1_760_000_000_000, payloadBytes, 77)
  seal()
  const figures = await nanosecondsOf({ seal, verify: () => verifyFrame(buffer, 0, bytes, 77) })
  return { 'payload bytes': payloadBytes, 'seal ns': figures['seal']!, 'verify ns': figures['verify']! }
}

export async function run({ output }: BenchArguments): Promise<void> {
  const records: Row[] = []
  for (const measured of codecs) records.push(await measured())
  output.table('records, nanoseconds each', records)
  const frames: Row[] = []
  for (const payloadBytes of [16, 64, 128, 1024, 10_240, 102_400]) frames.push(await frame(payloadBytes))
  output.table('frames, nanoseconds each', frames)
}
