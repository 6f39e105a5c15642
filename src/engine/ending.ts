/** The records that end a message: its finish, or its replacement with the note.
 * Invariant: each method is one step without a wait; its caller has made sure of the room. What ends a message and what reports on
 * it stand in one group. */
import type { ActiveMessage } from '../active/active-message.js'
import { position, type Position } from '../base/position.js'
import { toRanges, type Ranges } from '../base/ranges.js'
import { incomingLane, type Lane, type LaneLogs } from '../lane/lane.js'
import type { DataPlace } from '../record/envelope.js'
import { encodeFinish } from '../record/finish.js'
import { frameBytes, kinds } from '../record/frame.js'
import { encodeReplaced } from '../record/replaced.js'
import { letGo } from './holding.js'
import { appendGroup, messageGroup, type EnvelopeFacts, type MessageGroup } from './message-group.js'
import type { Parts } from './parts.js'
import type { Report } from './reporting.js'

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

/** The envelope for a lane with logs of its own. @param at where its data is in the lane */
export const laneGroup = ({ facts, recipients, data }: Replacement, at: Position | undefined): MessageGroup =>
  messageGroup(facts, recipients, Buffer.isBuffer(data) ? { kind: 'lane', position: at! } : data)

/** The group for a lane in the journal: it says itself what it replaces, as of now. */
export const journalGroup = ({ message, facts, recipients, data, reported }: Replacement): MessageGroup =>
  messageGroup({ ...facts, replaces: message.start, reported }, recipients, data)

/** The largest position: an envelope does not grow when its data has a place. */
export const farthest: Position = position(Number.MAX_SAFE_INTEGER)

export interface EndingCallbacks {
  /** The message is no longer active: there is room for another. */
  readonly onEnd: () => void
  /** A replacement was appended, to a lane with this interval. */
  readonly onReplacement: (intervalMs: number) => void
}

export class Ending {
  readonly #parts: Parts
  readonly #callbacks: EndingCallbacks

  constructor(parts: Parts, callbacks: EndingCallbacks) {
    this.#parts = parts
    this.#callbacks = callbacks
  }

  /** Nothing is left to do. @param reported recipients whom the report names */
  finish(message: ActiveMessage, written: Report | undefined, reported: number[]): void {
    const { journal, active, options, spool, life, events } = this.#parts
    const { data, id } = message.envelope
    const timeMs = options.clock.wallMs()
    const file = data.kind === 'spool' ? data.number : 0
    const payload = encodeFinish({ start: message.start, reported: toRanges(reported), spool: file })
    journal.open((written?.group.bytes ?? 0) + frameBytes(payload.length))
    this.#appendReport(message, written, timeMs, 'failed')
    const at = journal.append(kinds.finish, message.place.lane, timeMs, payload)
    letGo(this.#parts, message)
    if (file === 0) active.end(message)
    else {
      active.endHolding(message)
      const unlink = async (): Promise<void> => {
        await journal.whenDurable(position(at + frameBytes(payload.length)))
        await spool.unlink(file)
        active.unlinked(message)
      }
      life.run(unlink())
    }
    if (events.listenerCount('finished') > 0) events.emit('finished', { id })
    this.#callbacks.onEnd()
  }

  /** A replacement in a lane with logs of its own, and the note, in one step. */
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
    const payload = encodeReplaced({
      start: message.start,
      target,
      targetEnd,
      reported,
      warnings: facts.warnings,
    })
    journal.open((written?.group.bytes ?? 0) + frameBytes(payload.length))
    this.#appendReport(message, written, nowMs, facts.warnings > message.warnings ? 'delayed' : 'failed')
    lane.namedAt = journal.append(kinds.replaced, lane.number, timeMs, payload)
    this.#ended(replacement, nowMs)
  }

  /** In the single-log layout the replacement stands in the journal itself. */
  replaceInJournal(replacement: Replacement): void {
    const { message, lane, facts, written } = replacement
    const { journal, options } = this.#parts
    const group = journalGroup(replacement)
    const nowMs = options.clock.wallMs()
    journal.open((written?.group.bytes ?? 0) + group.bytes)
    this.#appendReport(message, written, nowMs, facts.warnings > message.warnings ? 'delayed' : 'failed')
    lane.namedAt = appendGroup(journal, group, lane.number, replacement.timeMs ?? nowMs)
    lane.runner.missed(position(lane.namedAt + group.envelopeBytes))
    this.#ended(replacement, nowMs)
  }

  #ended({ message, lane, timeMs }: Replacement, nowMs: number): void {
    const { active, events } = this.#parts
    active.end(message)
    letGo(this.#parts, message)
    if (events.listenerCount('requeued') > 0)
      events.emit('requeued', {
        id: message.envelope.id,
        lane: lane.number,
        delayMs: Math.max(0, (timeMs ?? nowMs) + lane.intervalMs - nowMs),
      })
    this.#callbacks.onReplacement(lane.intervalMs)
    this.#callbacks.onEnd()
  }

  /** Appends the report's frames at the head of the group that was opened, and hands it to the incoming runner. */
  #appendReport(
    message: ActiveMessage,
    written: Report | undefined,
    timeMs: number,
    action: 'failed' | 'delayed',
  ): void {
    if (written === undefined) return
    const { journal, lanes, spool, options, events } = this.#parts
    const { envelope, envelopeBytes: bytes } = written.group
    const at = appendGroup(journal, written.group, incomingLane, timeMs)
    if (written.spool !== undefined) spool.appended(written.spool)
    const seenAtMs = options.clock.monotonicMs()
    lanes.incoming.runner.handOver({ position: at, bytes, timeMs, envelope, data: undefined, seenAtMs })
    journal.want()
    if (events.listenerCount('reported') > 0)
      events.emit('reported', { id: message.envelope.id, report: envelope.id, action })
  }
}
