/** The records that end a message: its finish, or its replacement with the note.
 * Invariant: each method is one step without a wait; its caller has made sure of the room. What
 * ends a message and what reports on it stand in one group; and so does its start, when it is ended
 * where it waited:
 *    1. start of a held message durable
 *    2. power loss takes its finish
 *    3. recovery delivers what was on hold */
import type { ActiveMessage } from '../../active/active-message.js'
import { nowhere, position, type Position } from '../../base/position.js'
import type { Ranges } from '../../base/ranges.js'
import { incomingLane, type Lane, type LaneLogs } from '../../lane/lane.js'
import { bytesBeside, type DataPlace } from '../../record/envelope.js'
import { encodeFinish, writeFinish } from '../../record/finish.js'
import { frameBytes, kinds } from '../../record/frame.js'
import { encodeReplaced } from '../../record/replaced.js'
import { encodeStart } from '../../record/start.js'
import { taggedBy, tagsOf } from '../../record/terms.js'
import type { ToldEnd } from '../../record/told.js'
import { pinSegments, unpinSegments } from '../checkpoint/pinning.js'
import { appendGroup, messageGroup, type EnvelopeFacts, type MessageGroup } from '../message/message-group.js'
import type { Parts } from '../life/parts.js'
import type { Report } from './report.js'

export interface Replacement {
  readonly message: ActiveMessage
  readonly lane: Lane
  /** Of a replacement that is made again; undefined: now. */
  readonly timeMs: number | undefined
  readonly facts: EnvelopeFacts
  readonly recipients: readonly string[]
  /** Its bytes, when they move with it. */
  readonly data: Buffer | Exclude<DataPlace, { kind: 'before' }>
  readonly written: Report | undefined
  readonly reported: Ranges
}

/** The envelope for a lane with separate logs. @param at where its data is in the lane */
export const laneGroup = ({ facts, recipients, data }: Replacement, at: Position | undefined): MessageGroup =>
  messageGroup(facts, recipients, Buffer.isBuffer(data) ? { kind: 'lane', position: at! } : data)

/** The group for a lane in the journal: it says itself what it replaces, as of now. For `incoming`
 * a note says it, so that recovery need not decode every envelope that was ever submitted. */
function journalGroup({ message, lane, facts, recipients, data, reported }: Replacement): MessageGroup {
  if (lane.kind === 'incoming') return messageGroup(facts, recipients, data)
  return messageGroup({ ...facts, replaces: startOrFarthest(message), reported }, recipients, data)
}

/** Bytes of the replacement in the journal, at the most. */
export function journalBytes(replacement: Replacement): number {
  const { message, lane, reported, facts } = replacement
  const { bytes } = journalGroup(replacement)
  if (lane.kind !== 'incoming') return bytes
  const note = { start: startOrFarthest(message), target: farthest, targetEnd: farthest, reported }
  return bytes + frameBytes(encodeReplaced({ ...note, warnings: facts.warnings }).length)
}

/** The largest position: a record does not grow when the place that it names is known. */
export const farthest: Position = position(Number.MAX_SAFE_INTEGER)

const startOrFarthest = ({ start }: ActiveMessage): Position => (start === nowhere ? farthest : start)

/** Bytes of the start that a message still needs. */
export const startBytes = (message: ActiveMessage): number =>
  message.start === nowhere ? frameBytes(startOf(message).length) : 0

const startOf = ({ place }: ActiveMessage): Buffer =>
  encodeStart({
    envelope: place.position,
    envelopeBytes: place.bytes,
    outOfOrder: true,
    carried: undefined,
  })

const nobody: Ranges = []

/** Recipients that nobody tries to reach any more. */
export interface GivenUp {
  readonly why: 'expired' | 'deleted'
  readonly recipientCount: number
}

export interface EndingCallbacks {
  /** The message is no longer active: there is room for another. */
  readonly onEnd: () => void
  /** A replacement was appended, to a lane with this interval. */
  readonly onReplacement: (intervalMs: number) => void
  /** Settles when what is durable now has a batch behind it, or the disk is full. */
  readonly outlived: () => Promise<void>
  /** A file of a message that had ended is gone: the next checkpoint goes further. */
  readonly onUnlinked: () => void
}

export class Ending {
  readonly #parts: Parts
  readonly #callbacks: EndingCallbacks

  constructor(parts: Parts, callbacks: EndingCallbacks) {
    this.#parts = parts
    this.#callbacks = callbacks
  }

  /** Nothing is left to do.
   * @param reported recipients that the report names */
  finish(message: ActiveMessage, written: Report | undefined, reported: Ranges, givenUp?: GivenUp): void {
    const { journal, active, options, spool, life } = this.#parts
    const { data } = message.envelope
    const file = data.kind === 'spool' ? data.number : 0
    if (written === undefined && file === 0 && reported.length === 0 && message.start !== nowhere)
      return this.#finishQuietly(message, givenUp)
    const timeMs = options.clock.wallMs()
    const ending = { reported, spool: file, told: this.#toldOf(message, givenUp) }
    let payload = encodeFinish({ start: startOrFarthest(message), ...ending })
    journal.open(startBytes(message) + (written?.group.bytes ?? 0) + frameBytes(payload.length))
    if (message.start === nowhere) {
      this.#start(message, timeMs)
      payload = encodeFinish({ start: message.start, ...ending })
    }
    this.#appendReport(written, timeMs)
    const at = journal.append(kinds.finish, message.place.lane, timeMs, payload)
    unpinSegments(this.#parts, message)
    if (file === 0) active.end(message)
    else {
      active.endHolding(message)
      const unlink = async (): Promise<void> => {
        await journal.whenDurable(position(at + frameBytes(payload.length)))
        await this.#callbacks.outlived()
        await spool.unlink(file)
        active.unlinked(message)
        this.#callbacks.onUnlinked()
      }
      life.run(unlink())
    }
    this.#tellEnd(message, givenUp, written)
  }

  #toldOf({ envelope }: ActiveMessage, givenUp: GivenUp | undefined): ToldEnd | undefined {
    if (!this.#parts.outcomes.isOn) return undefined
    const { id, sender } = envelope
    const recipientCount = givenUp?.recipientCount ?? 0
    return { id, sender, why: givenUp?.why, recipientCount, tags: tagsOf(envelope) }
  }

  /** The usual end: without a report; the finish stands in the record of the last
   * outcome, or alone. */
  #finishQuietly(message: ActiveMessage, givenUp: GivenUp | undefined): void {
    const { journal, active, options } = this.#parts
    if (!message.isFinished) {
      journal.aim()
      const told = this.#toldOf(message, givenUp)
      writeFinish({ start: message.start, reported: nobody, spool: 0, told })
      journal.appendAlone(kinds.finish, message.place.lane, options.clock.wallMs())
    }
    unpinSegments(this.#parts, message)
    active.end(message)
    this.#tellEnd(message, givenUp, undefined)
  }

  /** A replacement in a lane with separate logs, and the note, in one step. */
  replaceInLane(replacement: Replacement, logs: LaneLogs): void {
    const { message, lane, facts, data, written, reported } = replacement
    const { journal, options } = this.#parts
    const nowMs = options.clock.wallMs()
    const timeMs = replacement.timeMs ?? nowMs
    let place: Position | undefined
    if (Buffer.isBuffer(data)) {
      const dataBytes = frameBytes(data.length)
      logs.data.open(dataBytes, nowMs)
      place = logs.data.append(kinds.data, lane.number, nowMs, data)
    }
    const group = laneGroup(replacement, place)
    logs.envelopes.open(group.bytes, nowMs)
    const target = appendGroup(logs.envelopes, group, lane.number, timeMs)
    const targetEnd = position(target + group.envelopeBytes)
    lane.runner.missed(targetEnd)
    const note = { target, targetEnd, reported, warnings: facts.warnings }
    let payload = encodeReplaced({ start: startOrFarthest(message), ...note })
    journal.open(startBytes(message) + (written?.group.bytes ?? 0) + frameBytes(payload.length))
    if (message.start === nowhere) {
      this.#start(message, nowMs)
      payload = encodeReplaced({ start: message.start, ...note })
    }
    this.#appendReport(written, nowMs)
    lane.namedAt = journal.append(kinds.replaced, lane.number, timeMs, payload)
    this.#ended(replacement, nowMs)
  }

  /** For `incoming`, and in the single-log layout for all but `hold`, the replacement stands in the
   * journal itself. */
  replaceInJournal(replacement: Replacement): void {
    const { message, lane, facts, written, data, reported } = replacement
    const { journal, options } = this.#parts
    const nowMs = options.clock.wallMs()
    const timeMs = replacement.timeMs ?? nowMs
    journal.open(startBytes(message) + (written?.group.bytes ?? 0) + journalBytes(replacement))
    if (message.start === nowhere) this.#start(message, nowMs)
    this.#appendReport(written, nowMs)
    const group = journalGroup(replacement)
    const target = appendGroup(journal, group, lane.number, timeMs)
    lane.namedAt = target
    if (lane.kind === 'incoming') {
      const targetEnd = position(target + group.envelopeBytes)
      const note = { start: message.start, target, targetEnd, reported, warnings: facts.warnings }
      journal.append(kinds.replaced, lane.number, timeMs, encodeReplaced(note))
      this.#handOver(group, target, timeMs, Buffer.isBuffer(data) ? data : undefined)
    } else lane.runner.missed(position(target + group.envelopeBytes))
    this.#ended(replacement, nowMs)
  }

  /** What waits is started out of order, in the group that ends it. */
  #start(message: ActiveMessage, timeMs: number): void {
    const { journal, lanes, active } = this.#parts
    const { place, envelope } = message
    const lane = lanes.get(place.lane)
    message.start = journal.append(kinds.start, place.lane, timeMs, startOf(message))
    lane.marks.add(place.position)
    lane.markedBytesMax = Math.max(lane.markedBytesMax, place.bytes + bytesBeside(envelope))
    lane.namedAt = message.start
    active.add(message)
    pinSegments(this.#parts, message)
  }

  /** The incoming runner gets what is appended for it while it is in memory. */
  #handOver(group: MessageGroup, at: Position, timeMs: number, data: Buffer | undefined): void {
    const { lanes, journal } = this.#parts
    const { envelope, envelopeBytes: bytes } = group
    lanes.incoming.runner.handOver({ position: at, bytes, timeMs, envelope, data, seenAtMs: 0 })
    journal.want()
  }

  #ended({ message, lane, timeMs, written }: Replacement, nowMs: number): void {
    const { active, events } = this.#parts
    active.end(message)
    unpinSegments(this.#parts, message)
    this.#tellReport(message, written)
    if (events.listenerCount('requeued') > 0)
      events.emit('requeued', {
        id: message.envelope.id,
        lane: lane.number,
        delayMs: Math.max(0, (timeMs ?? nowMs) + lane.intervalMs - nowMs),
      })
    this.#callbacks.onReplacement(lane.intervalMs)
    this.#callbacks.onEnd()
  }

  /** Events are emitted behind the last frame of the group, because a listener may submit in this
   * step:
   *    1. report appended
   *    2. the listener submits, and the batch is full
   *    3. crash before the next one, with the finish: reported on twice */
  #tellEnd(message: ActiveMessage, givenUp: GivenUp | undefined, written: Report | undefined): void {
    const { events } = this.#parts
    const { id, sender } = message.envelope
    const tags = taggedBy(tagsOf(message.envelope))
    if (givenUp !== undefined && givenUp.recipientCount > 0 && events.listenerCount(givenUp.why) > 0)
      events.emit(givenUp.why, { id, sender, recipientCount: givenUp.recipientCount, ...tags })
    this.#tellReport(message, written)
    if (events.listenerCount('finished') > 0) events.emit('finished', { id, ...tags })
    this.#callbacks.onEnd()
  }

  #tellReport({ envelope }: ActiveMessage, written: Report | undefined): void {
    const { events } = this.#parts
    if (written !== undefined && events.listenerCount('reported') > 0)
      events.emit('reported', {
        id: envelope.id,
        report: written.group.envelope.id,
        action: written.action,
      })
  }

  /** Appends the report's frames at the head of the group that was opened, and hands it to the
   * incoming runner. */
  #appendReport(written: Report | undefined, timeMs: number): void {
    if (written === undefined) return
    const { journal, spool } = this.#parts
    const at = appendGroup(journal, written.group, incomingLane, timeMs)
    if (written.spool !== undefined) spool.appended(written.spool)
    this.#handOver(written.group, at, timeMs, undefined)
  }
}
