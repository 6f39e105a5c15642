/** Segment cleaning: active messages leave sparse segments, which are released then.
 * Such a message is written once more at the end of the journal, and a start that carries all that
 * is known names its new place. It stays active, and keeps its turn in the scheduler.
 * Invariants:
 *    1. The envelope, its mark and its start come in one step and one group: no crash leaves a
 *       message in two places, or in none.
 *    2. At most half of what is released is written: without other mail cleaning ends. */
import type { ActiveMessage } from '../../active/active-message.js'
import { nowhere } from '../../base/position.js'
import { isWaybillError } from '../../errors.js'
import { incomingLane } from '../../lane/lane.js'
import { namesRecipients, withoutRecipients } from '../../record/envelope.js'
import { kinds } from '../../record/frame.js'
import { isInUse } from '../deliver/job.js'
import type { Parts } from '../life/parts.js'
import { appendGroup, messageGroup, type MessageGroup } from '../message/message-group.js'
import { hasManyMarks, type Captured } from '../checkpoint/capture.js'
import { isPassing } from '../recover/second-reading.js'
import { fixedData, givenOrcpts } from '../settle/replacement.js'
import { pinSegments, unpinSegments } from '../checkpoint/pinning.js'
import {
  messagesInSparseSegments,
  newPlace,
  relocatedBytes,
  relocatedStart,
  relocatedStartBytes,
} from './sparse-segments.js'

/** Messages that are read before they are written together, and their bytes. Each group of writes
 * may be padded to a block of the disk. */
const togetherCountMax = 256
const togetherBytesMax = 1024 * 1024

interface Copy {
  readonly message: ActiveMessage
  readonly group: MessageGroup
}

export interface CleaningCallbacks {
  /** May anything be written now that need not be? */
  readonly isTime: () => boolean
  /** The runner of new mail may pass what is in its new place. */
  readonly onDurable: () => void
}

export class SegmentCleaner {
  readonly #parts: Parts
  readonly #callbacks: CleaningCallbacks
  readonly #isMovable = (message: ActiveMessage): boolean =>
    this.#parts.active.has(message) && !isInUse(message) && !this.#unreadable.has(message)
  /** They stay where they are: an attempt on them says what is wrong. */
  readonly #unreadable = new WeakSet<ActiveMessage>()
  #isUnderWay = false

  constructor(parts: Parts, callbacks: CleaningCallbacks) {
    this.#parts = parts
    this.#callbacks = callbacks
  }

  /** A checkpoint is durable, and what it made garbage is released. */
  look(captured: Captured): void {
    if (this.#isUnderWay || !this.#callbacks.isTime()) return
    const messages = messagesInSparseSegments(this.#parts, captured, this.#isMovable)
    if (messages.size === 0) return
    this.#isUnderWay = true
    this.#parts.life.run(
      this.#relocate(messages).finally(() => {
        this.#isUnderWay = false
      }),
    )
  }

  async #relocate(messages: ReadonlySet<ActiveMessage>): Promise<void> {
    const { life, journal } = this.#parts
    for (const together of inPieces(messages)) {
      const copies: Copy[] = []
      for (const message of together) {
        const copy = await this.#copyOf(message)
        life.check()
        if (copy !== undefined) copies.push(copy)
      }
      if (!this.#write(copies)) break
    }
    await journal.whenDurable(journal.end)
    this.#callbacks.onDurable()
  }

  /** @returns undefined when it is not to be moved any more, or cannot be read */
  async #copyOf(message: ActiveMessage): Promise<Copy | undefined> {
    if (!this.#isMovable(message)) return undefined
    const { reader, life } = this.#parts
    const { envelope } = message
    try {
      const { addresses, orcpts } = await reader.addressees(message, 0, envelope.recipientCount)
      const data = fixedData(message) ?? (await reader.loggedData(message))
      const dsn = envelope.dsn && { ...envelope.dsn, orcpts: givenOrcpts(orcpts) }
      const facts = { ...envelope, dsn, replaces: nowhere, reported: [], key: undefined }
      return { message, group: messageGroup(facts, addresses, data) }
    } catch (error) {
      if (life.isOver || !isWaybillError(error)) throw error
      if (!isPassing(error)) this.#unreadable.add(message)
      return undefined
    }
  }

  /** In one step. @returns false when there is no room for all of them */
  #write(copies: readonly Copy[]): boolean {
    const { journal, lanes } = this.#parts
    for (const { message, group } of copies) {
      if (!this.#callbacks.isTime() || hasManyMarks(this.#parts, lanes.incoming)) return false
      if (!this.#isMovable(message)) continue
      if (!this.#append(message, group)) return false
    }
    journal.want()
    return true
  }

  #append(message: ActiveMessage, group: MessageGroup): boolean {
    const { journal, lanes, active, options } = this.#parts
    const { incoming } = lanes
    const timeMs = options.clock.wallMs()
    const { envelope, envelopeBytes } = group
    const bytes = group.bytes + relocatedStartBytes(message, envelopeBytes)
    if (bytes > journal.groupBytesMost || journal.room(bytes, 'new mail') !== 'yes') return false
    journal.open(bytes)
    const at = appendGroup(journal, group, incomingLane, timeMs)
    const place = newPlace(at, envelopeBytes)
    const payload = relocatedStart(message, place)
    const start = journal.append(kinds.start, incomingLane, timeMs, payload)
    incoming.namedAt = start
    incoming.marks.add(at)
    incoming.runner.handOver({
      position: at,
      bytes: envelopeBytes,
      timeMs,
      envelope,
      data: undefined,
      seenAtMs: 0,
    })
    unpinSegments(this.#parts, message)
    message.envelope = namesRecipients(message.envelope) ? envelope : withoutRecipients(envelope)
    message.place = place
    active.restart(message, start)
    pinSegments(this.#parts, message)
    return true
  }
}

/** What is read before it is written together. */
function* inPieces(messages: Iterable<ActiveMessage>): Iterable<readonly ActiveMessage[]> {
  let piece: ActiveMessage[] = []
  let bytes = 0
  for (const message of messages) {
    piece.push(message)
    bytes += relocatedBytes(message)
    if (piece.length < togetherCountMax && bytes < togetherBytesMax) continue
    yield piece
    piece = []
    bytes = 0
  }
  yield piece
}
