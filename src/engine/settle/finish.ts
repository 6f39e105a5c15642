/** Finishes messages: a finish is composed, waits for room, and is appended.
 * Invariants:
 *    1. A finish and its report stand in one group, so no crash takes only one of them.
 *    2. The append is one step without a wait, and its room was seen in that step.
 *    3. A spool file is unlinked when the finish and one more batch are durable. */
import type { ActiveMessage } from '../../active/active-message.js'
import { nowhere, position, type Position } from '../../base/position.js'
import { toRanges, type Ranges } from '../../base/ranges.js'
import { encodeFinish, writeFinish } from '../../record/finish.js'
import { frameBytes, kinds } from '../../record/frame.js'
import { taggedBy, tagsOf } from '../../record/terms.js'
import type { EndFields } from '../../record/consumer-fields.js'
import { unpinSegments } from '../checkpoint/pinning.js'
import { betweenPieces } from './long-step.js'
import type { Parts } from '../life/parts.js'
import { appendLateStart, startBytes, startOrFarthest } from './late-start.js'
import { appendReport, expiries, finals, report, reportBytes, tellReport, type Report } from './report.js'
import type { EndResult, Need, Room, Work } from './room.js'

/** Recipients that are not tried again. */
interface GivenUp {
  readonly why: 'expired' | 'deleted'
  readonly recipientCount: number
}

/** What the end says of the recipients. */
interface FinishFacts {
  readonly written: Report | undefined
  /** Recipients that the report names. */
  readonly reported: Ranges
  readonly givenUp: GivenUp | undefined
}

const silent: FinishFacts = { written: undefined, reported: [], givenUp: undefined }

export interface FinishCallbacks {
  /** The message is no longer active: there is room for another. */
  readonly onEnd: () => void
  /** Settles when what is durable now has a batch behind it, or the disk is full. */
  readonly outlived: () => Promise<void>
  /** A file of a message that had ended is gone: the next checkpoint goes further. */
  readonly onUnlinked: () => void
}

export class Finish {
  readonly #parts: Parts
  readonly #room: Room
  readonly #callbacks: FinishCallbacks

  constructor(parts: Parts, room: Room, callbacks: FinishCallbacks) {
    this.#parts = parts
    this.#room = room
    this.#callbacks = callbacks
  }

  /** Every recipient has it, and the sender did not ask to be told. It needs no more room than was
   * kept for outcomes. */
  delivered(message: ActiveMessage): void {
    this.#append(message, silent)
  }

  /** An operator deletes it: no report is sent. */
  drop(work: Work): Promise<EndResult> {
    const { message } = work
    return this.#room.endWith(work, {
      target: undefined,
      written: undefined,
      need: needOf(startBytes(message)),
      append: () => {
        const recipientCount = message.pendingCount + message.deferredCount
        this.#append(message, { ...silent, givenUp: { why: 'deleted', recipientCount } })
      },
    })
  }

  /** Ends it with a report on the recipients that have failed, are given up, or were reached when
   * the sender asked to be told.
   * @param expired recipients that are given up */
  async withReport(work: Work, expired: readonly number[]): Promise<EndResult> {
    const { message } = work
    if (!this.#room.mayHave(undefined, message)) return 'no room'
    const outcomes = [...finals(message), ...expiries(message, expired)]
    await betweenPieces(this.#parts, outcomes.length)
    const written = await report(this.#parts, message, outcomes)
    const reported = toRanges(written === undefined ? [] : outcomes.map(({ index }) => index))
    const givenUp: GivenUp = { why: 'expired', recipientCount: expired.length }
    return this.#room.endWith(work, {
      target: undefined,
      written,
      need: needOf(reportBytes(written) + startBytes(message) + 5 * reported.length),
      append: () => this.#append(message, { written, reported, givenUp }),
    })
  }

  /** One step without a wait. The finish of most mail stands alone, or in the record of the last
   * outcome. */
  #append(message: ActiveMessage, facts: FinishFacts): void {
    const { active, life } = this.#parts
    const { data } = message.envelope
    const file = data.kind === 'spool' ? data.number : 0
    const { written, reported, givenUp } = facts
    const isAlone = written === undefined && file === 0 && reported.length === 0 && message.start !== nowhere
    let end = nowhere
    if (!isAlone) end = this.#appendGroup(message, facts, file)
    else if (!message.isFinished) this.#appendAlone(message, givenUp)
    unpinSegments(this.#parts, message)
    if (file === 0) active.end(message)
    else {
      active.endHolding(message)
      life.run(this.#unlink(message, file, end))
    }
    this.#tell(message, facts)
  }

  #appendAlone(message: ActiveMessage, givenUp: GivenUp | undefined): void {
    const { journal, options } = this.#parts
    journal.aim()
    const told = this.#endFieldsOf(message, givenUp)
    writeFinish({ start: message.start, reported: silent.reported, spool: 0, told })
    journal.appendAlone(kinds.finish, message.place.lane, options.clock.wallMs())
  }

  /** @returns where it ends */
  #appendGroup(message: ActiveMessage, facts: FinishFacts, spool: number): Position {
    const { journal, options } = this.#parts
    const { written, reported, givenUp } = facts
    const timeMs = options.clock.wallMs()
    const ending = { reported, spool, told: this.#endFieldsOf(message, givenUp) }
    let payload = encodeFinish({ start: startOrFarthest(message), ...ending })
    journal.open(startBytes(message) + reportBytes(written) + frameBytes(payload.length))
    if (message.start === nowhere) {
      appendLateStart(this.#parts, message, timeMs)
      payload = encodeFinish({ start: message.start, ...ending })
    }
    appendReport(this.#parts, written, timeMs)
    const at = journal.append(kinds.finish, message.place.lane, timeMs, payload)
    return position(at + frameBytes(payload.length))
  }

  #endFieldsOf({ envelope }: ActiveMessage, givenUp: GivenUp | undefined): EndFields | undefined {
    if (!this.#parts.outcomes.isOn) return undefined
    const { id, sender } = envelope
    const recipientCount = givenUp?.recipientCount ?? 0
    return { id, sender, why: givenUp?.why, recipientCount, tags: tagsOf(envelope) }
  }

  /** The file of its data, when the finish and one more batch are durable. */
  async #unlink(message: ActiveMessage, file: number, end: Position): Promise<void> {
    const { journal, active, spool } = this.#parts
    await journal.whenDurable(end)
    await this.#callbacks.outlived()
    await spool.unlink(file)
    active.unlinked(message)
    this.#callbacks.onUnlinked()
  }

  /** Events are emitted behind the last frame of the group, because a listener may submit in this
   * step:
   *    1. report appended
   *    2. the listener submits, and the batch is full
   *    3. crash before the next one, with the finish: reported on twice */
  #tell(message: ActiveMessage, { written, givenUp }: FinishFacts): void {
    const { events } = this.#parts
    const { id, sender } = message.envelope
    const tags = taggedBy(tagsOf(message.envelope))
    if (givenUp !== undefined && givenUp.recipientCount > 0 && events.listenerCount(givenUp.why) > 0)
      events.emit(givenUp.why, { id, sender, recipientCount: givenUp.recipientCount, ...tags })
    tellReport(this.#parts, message, written)
    if (events.listenerCount('finished') > 0) events.emit('finished', { id, ...tags })
    this.#callbacks.onEnd()
  }
}

const needOf = (journalBytes: number): Need => ({ envelopeBytes: 0, dataBytes: 0, journalBytes })
