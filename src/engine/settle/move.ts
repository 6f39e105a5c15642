/** Moves messages to a lane, or to the journal, by replacements. One is composed, waits for room,
 * and is appended with the note that ends the message.
 * Invariants:
 *    1. The note and the report stand in one group, so no crash takes only one of them.
 *    2. The append is one step without a wait, and its room was seen in that step. */
import { nowhere, position, type Position } from '../../base/position.js'
import { toRanges } from '../../base/ranges.js'
import type { Lane, LaneLogs } from '../../lane/lane.js'
import { frameBytes, kinds } from '../../record/frame.js'
import { encodeReplaced } from '../../record/replaced.js'
import { checkFits } from '../accept/group-fits.js'
import { unpinSegments } from '../checkpoint/pinning.js'
import { betweenPieces } from './long-step.js'
import type { Parts } from '../life/parts.js'
import { appendGroup, messageGroup } from '../message/message-group.js'
import { appendLateStart, farthest, startBytes, startOrFarthest } from './late-start.js'
import { nowOf } from './message-age.js'
import {
  fixedData,
  journalBytes,
  journalGroup,
  laneGroup,
  remainderOf,
  replacementFacts,
  requeuedRecipients,
  type EnvelopeChanges,
  type Replacement,
} from './replacement.js'
import { appendReport, delays, finals, report, reportBytes, tellReport, type Report } from './report.js'
import { noteBytesMax, type End, type EndResult, type Room, type Work } from './room.js'

export interface MoveFacts {
  readonly lane: Lane
  /** The time of a replacement that is made again; undefined: now. */
  readonly timeMs?: number | undefined
  /** The delay is reported to the sender. */
  readonly warns?: boolean
  readonly changes?: EnvelopeChanges
}

export interface MoveCallbacks {
  /** The message is no longer active: there is room for another. */
  readonly onEnd: () => void
  /** A replacement was appended, to a lane with this interval. */
  readonly onReplacement: (intervalMs: number) => void
}

export class Move {
  readonly #parts: Parts
  readonly #room: Room
  readonly #callbacks: MoveCallbacks

  constructor(parts: Parts, room: Room, callbacks: MoveCallbacks) {
    this.#parts = parts
    this.#room = room
    this.#callbacks = callbacks
  }

  /** Moves the remaining recipients to a lane, which is in use until that is done. */
  async to(work: Work, facts: MoveFacts): Promise<EndResult> {
    const { lane } = facts
    lane.userCount++
    try {
      return await this.#replace(work, facts)
    } finally {
      lane.userCount--
    }
  }

  async #replace(work: Work, facts: MoveFacts): Promise<EndResult> {
    const { message } = work
    const { lane, timeMs, warns = false, changes = {} } = facts
    if (!this.#room.mayHave(lane, message)) return 'no room'
    const { reader, clock, options } = this.#parts
    const { recipientCount } = message.envelope
    const final = finals(message)
    const late = warns ? delays(message) : []
    await betweenPieces(this.#parts, recipientCount)
    const left = await remainderOf(message, reader)
    const remainder = changes.isNew === true ? requeuedRecipients(message.envelope, left, options) : left
    await betweenPieces(this.#parts, recipientCount)
    const data = fixedData(message) ?? ((await reader.data(message)) as Buffer)
    if (remainder !== left) {
      const requeued = replacementFacts(message, remainder, message.warnings, changes, nowOf(clock))
      checkFits(this.#parts, messageGroup(requeued, remainder.recipients, data))
    }
    const replacementBy = (written: Report | undefined, isTold: boolean): Replacement => {
      const warnings = message.warnings + (late.length > 0 && isTold ? 1 : 0)
      return {
        message,
        lane,
        timeMs,
        facts: replacementFacts(message, remainder, warnings, changes, nowOf(clock)),
        recipients: remainder.recipients,
        data,
        written,
        reported: toRanges(isTold ? final.map(({ index }) => index) : []),
      }
    }
    // Last, because its spool file, if it needs one, is used from here on.
    const written = await report(this.#parts, message, [...final, ...late], () =>
      besideBytes(replacementBy(undefined, true)),
    )
    await betweenPieces(this.#parts, recipientCount)
    const replacement = replacementBy(written, written !== undefined)
    return this.#room.endWith(work, this.#endBy(replacement))
  }

  #endBy(replacement: Replacement): End {
    const { message, lane, data, written, reported } = replacement
    const { logs } = lane
    const beside = besideBytes(replacement)
    this.#parts.journal.checkFits(reportBytes(written) + beside)
    if (logs === undefined)
      return {
        target: lane,
        written,
        need: { envelopeBytes: 0, dataBytes: 0, journalBytes: reportBytes(written) + beside },
        append: () => this.#appendToJournal(replacement),
      }
    return {
      target: lane,
      written,
      need: {
        envelopeBytes: laneGroup(replacement, farthest).bytes,
        dataBytes: Buffer.isBuffer(data) ? frameBytes(data.length) : 0,
        journalBytes: reportBytes(written) + startBytes(message) + 5 * reported.length,
      },
      append: () => this.#appendToLane(replacement, logs),
    }
  }

  /** A replacement in a lane with separate logs, and the note, in one step. */
  #appendToLane(replacement: Replacement, logs: LaneLogs): void {
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
    journal.open(startBytes(message) + reportBytes(written) + frameBytes(payload.length))
    if (message.start === nowhere) {
      appendLateStart(this.#parts, message, nowMs)
      payload = encodeReplaced({ start: message.start, ...note })
    }
    appendReport(this.#parts, written, nowMs)
    lane.namedAt = journal.append(kinds.replaced, lane.number, timeMs, payload)
    this.#ended(replacement, nowMs)
  }

  /** For `incoming`, and in the single-log layout for all but `hold`, the replacement stands in the
   * journal itself. */
  #appendToJournal(replacement: Replacement): void {
    const { message, lane, facts, written, data, reported } = replacement
    const { journal, options } = this.#parts
    const nowMs = options.clock.wallMs()
    const timeMs = replacement.timeMs ?? nowMs
    journal.open(startBytes(message) + reportBytes(written) + journalBytes(replacement))
    if (message.start === nowhere) appendLateStart(this.#parts, message, nowMs)
    appendReport(this.#parts, written, nowMs)
    const group = journalGroup(replacement)
    const target = appendGroup(journal, group, lane.number, timeMs)
    const targetEnd = position(target + group.envelopeBytes)
    lane.namedAt = target
    if (lane.kind === 'incoming') {
      const note = { start: message.start, target, targetEnd, reported, warnings: facts.warnings }
      journal.append(kinds.replaced, lane.number, timeMs, encodeReplaced(note))
      const { envelope, envelopeBytes: bytes } = group
      const kept = Buffer.isBuffer(data) ? data : undefined
      lane.runner.handOver({ position: target, bytes, timeMs, envelope, data: kept, seenAtMs: 0 })
      journal.want()
    } else lane.runner.missed(targetEnd)
    this.#ended(replacement, nowMs)
  }

  #ended({ message, lane, timeMs, written }: Replacement, nowMs: number): void {
    const { active, events } = this.#parts
    active.end(message)
    unpinSegments(this.#parts, message)
    tellReport(this.#parts, message, written)
    if (events.listenerCount('requeued') > 0)
      events.emit('requeued', {
        id: message.envelope.id,
        lane: lane.number,
        delayMs: Math.max(0, (timeMs ?? nowMs) + lane.intervalMs - nowMs),
      })
    this.#callbacks.onReplacement(lane.intervalMs)
    this.#callbacks.onEnd()
  }
}

/** What stands in one group with the report, at the most. */
function besideBytes(replacement: Replacement): number {
  const { message, lane, reported } = replacement
  const inJournal = lane.logs === undefined ? journalBytes(replacement) : 5 * reported.length + noteBytesMax
  return startBytes(message) + inJournal
}
