/** Appends ordinary mail: few recipients, data in memory, room now, no DSN requests.
 * It is written directly into the batch, which saves 1 µs a message.
 * Invariant: the bytes are those that message-group.ts makes of the same submission. */
import { nowhere } from '../../base/position.js'
import type { MessageIds } from '../../base/message-id.js'
import { incomingLane } from '../../lane/lane.js'
import { writeEnvelope, type Envelope } from '../../record/envelope.js'
import { frameBytes, kinds, payloadBytesMax } from '../../record/frame.js'
import { keyBytesMax } from '../../record/keys.js'
import { notesBytesMost } from '../../record/outcome-note.js'
import { payload } from '../../record/payload-writer.js'
import { termBytesMost } from '../../record/terms.js'
import type { Parts } from '../life/parts.js'
import type { CheckedEnvelope } from './submission.js'

/** More than an address and the head of its field take in an envelope, and more than
 * all other fields that ordinary mail has. */
const addressFieldBytesMax = 520
const otherFieldsBytesMax = 256
const keyFieldBytesMax = keyBytesMax + 3

/** Mail that asks for less than this part of a segment fits in every way, whatever becomes of it:
 * in a lane with all outcomes, in a record that carries them, beside a report. */
const part = 8
const recipientsMax = 100

/** A buffer that holds this much more is not kept for the sake of the message in it. */
const pinnedBytesMax = 8192

const none: readonly never[] = []

type PlainFacts = Pick<
  Envelope,
  | 'id'
  | 'sender'
  | 'acceptedAt'
  | 'smtputf8'
  | 'recipients'
  | 'dataBytes'
  | 'checksum'
  | 'held'
  | 'priority'
  | 'key'
  | 'terms'
>

/** The data stands right before the envelope. */
class DataBefore {
  readonly kind = 'before' as const
  readonly distanceBytes: number

  constructor(dataBytes: number) {
    this.distanceBytes = frameBytes(dataBytes)
  }
}

/** Of a message that is new. A class, because it is kept (base/README.md). */
class PlainEnvelope implements Envelope {
  readonly id: Envelope['id']
  readonly sender: string
  readonly acceptedAt: number
  readonly attempts = 0
  readonly smtputf8: boolean
  readonly recipientCount: number
  readonly recipients: readonly string[]
  readonly recipientFrames: readonly never[] = none
  readonly data: DataBefore
  readonly dataBytes: number
  readonly checksum: number
  readonly replaces: typeof nowhere = nowhere
  readonly notes: readonly never[] = none
  readonly warnings = 0
  readonly reported: readonly never[] = none
  readonly route = undefined
  readonly requeues = 0
  readonly dsn = undefined
  readonly held: boolean
  readonly priority: Envelope['priority']
  readonly key: string | undefined
  readonly terms: Envelope['terms']

  constructor(facts: PlainFacts) {
    this.id = facts.id
    this.sender = facts.sender
    this.acceptedAt = facts.acceptedAt
    this.smtputf8 = facts.smtputf8
    this.recipientCount = facts.recipients.length
    this.recipients = facts.recipients
    this.data = new DataBefore(facts.dataBytes)
    this.dataBytes = facts.dataBytes
    this.checksum = facts.checksum
    this.held = facts.held
    this.priority = facts.priority
    this.key = facts.key
    this.terms = facts.terms
  }
}

export class PlainMail {
  readonly #parts: Pick<Parts, 'journal' | 'lanes' | 'keys' | 'options'>
  readonly #bytesMax: number

  constructor(parts: Pick<Parts, 'journal' | 'lanes' | 'keys' | 'options'>) {
    const { journal, lanes } = parts
    this.#parts = parts
    const laneSegmentBytes = lanes.hold.logs?.envelopes.files.grid.segmentBytes ?? 0
    this.#bytesMax = Math.min(journal.grid.segmentBytes, laneSegmentBytes, payloadBytesMax) / part
  }

  /** Bytes that it takes at the most, if there is room for them now, with more to spare than its
   * exact size could matter; else 0. */
  roomBytes({ recipients, dsn, key, terms }: CheckedEnvelope, data: Buffer): number {
    const count = recipients.length
    if (count > recipientsMax || dsn !== undefined) return 0
    if (key !== undefined && !this.#parts.keys.hasRoom) return 0
    let bytes = frameBytes(data.length) + (count + 1) * addressFieldBytesMax + otherFieldsBytesMax
    if (key !== undefined) bytes += keyFieldBytesMax
    if (terms !== undefined) bytes += termBytesMost(terms)
    if (bytes + notesBytesMost(count) > this.#bytesMax) return 0
    return this.#parts.journal.room(bytes, 'new mail') === 'yes' ? bytes : 0
  }

  /** Appends it, and hands it to the runner. The data comes first: its checksum, of what stands in
   * the batch, is in the envelope. */
  append(
    ids: MessageIds,
    { sender, recipients, smtputf8, id, held, priority, key, terms }: CheckedEnvelope,
    data: Buffer,
    roomBytes: number,
  ): Envelope {
    const { journal, lanes, keys, options } = this.#parts
    const timeMs = options.clock.wallMs()
    journal.open(roomBytes)
    const checksum = journal.appendData(incomingLane, timeMs, data)
    const envelope = new PlainEnvelope({
      id: id ?? ids.next(timeMs),
      sender,
      acceptedAt: timeMs,
      smtputf8,
      recipients,
      dataBytes: data.length,
      checksum,
      held,
      priority,
      key,
      terms,
    })
    journal.aim()
    writeEnvelope(envelope)
    const bytes = frameBytes(payload.bytes)
    const at = journal.appendWritten(kinds.envelope, incomingLane, timeMs)
    if (key !== undefined) keys.appended({ key, id: envelope.id, acceptedAt: timeMs, envelope: at })
    // Not a copy: readers check the checksum, and read the log if the caller has reused its buffer.
    const kept = data.buffer.byteLength - data.length <= pinnedBytesMax ? data : undefined
    lanes.incoming.runner.handOver({ position: at, bytes, timeMs, envelope, data: kept, seenAtMs: 0 })
    return envelope
  }
}
