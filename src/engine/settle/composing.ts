/** What ends a message is read and composed, and room is found for it; ending.ts appends it.
 * Invariant: between the last look at the room, and at whether the message is still to end this
 * way, and the append there is no wait. Nothing here waits for a sync, except at the bound on
 * replacements that are not trusted yet. */
import { nowhere } from '../../base/position.js'
import { toRanges } from '../../base/ranges.js'
import type { ActiveMessage } from '../../active/active-message.js'

import type { Lane, LaneLogs } from '../../lane/lane.js'
import { frameBytes } from '../../record/frame.js'
import { checkFits } from '../accept/group-fits.js'
import { canMark } from '../checkpoint/capture.js'
import { EndingRoom, noteBytesMax, type Need, type Target } from './ending-room.js'
import {
  Ending,
  farthest,
  journalBytes,
  laneGroup,
  startBytes,
  type EndingCallbacks,
  type Replacement,
} from './ending.js'
import { betweenPieces } from '../life/long-step.js'
import type { Parts } from '../life/parts.js'
import { messageGroup } from '../message/message-group.js'
import { diskFull } from '../life/trouble.js'
import { nowOf } from './message-age.js'
import {
  fixedData,
  remainderOf,
  replacementFacts,
  requeuedRecipients,
  type EnvelopeChanges,
} from './replacement.js'
import { outcomesOf, report, type Report, type ReportedOutcome } from './report.js'
import { expiriesOf, reasonsOf } from './waiters.js'

export interface ComposingOptions extends EndingCallbacks {
  /** Room may be long in coming. */
  readonly isFull: () => boolean
  /** Nobody waits for room for it: the disk is full, and it is an operator's order. */
  readonly isHopeless: (message: ActiveMessage) => boolean
  /** Bound of replacements that are not trusted yet. */
  readonly unvouchedMax: number
}

export interface Move {
  readonly lane: Lane
  /** The time of a replacement that is made again; undefined: now. */
  readonly timeMs?: number | undefined
  /** The delay is reported to the sender. */
  readonly warns?: boolean
  readonly changes?: EnvelopeChanges
}

/** `overtaken`: it is not to end this way any more, nothing was appended. `no room`: nothing was
 * appended, and what was composed is not kept. */
export type EndResult = 'done' | 'overtaken' | 'no room'

/** Is the message still to end the way that is being prepared? */
export type IsStill = () => boolean

/** What ends a message, and what must hold in the step in which it does. */
interface End {
  readonly message: ActiveMessage
  readonly written: Report | undefined
  readonly isStill: IsStill
  readonly target: Target
  readonly need: Need
  readonly end: () => void
}

export class Composing {
  readonly #parts: Parts
  readonly #options: ComposingOptions
  readonly #ending: Ending
  readonly room: EndingRoom
  readonly #waiting: (() => void)[] = []

  constructor(parts: Parts, options: ComposingOptions) {
    this.#parts = parts
    this.#options = options
    this.#ending = new Ending(parts, options)
    this.room = new EndingRoom(parts, options.unvouchedMax)
  }

  /** Room may have come: who waits looks again. */
  roomChanged(): void {
    for (const look of this.#waiting.splice(0)) look()
  }

  /** The caller checks again, in the step in which it appends: others may have taken the room.
   *    1. two find room for one
   *    2. both go on behind their `await`
   *    3. the second appends where nothing is allocated */
  async roomChange(): Promise<void> {
    await new Promise<void>((look) => this.#waiting.push(look))
    this.#parts.life.check()
  }

  /** Every recipient got it: its end needs no more room than was kept for outcomes. */
  finishDelivered(message: ActiveMessage): void {
    this.#ending.finish(message, undefined, [])
  }

  /** Ends it without a word to anybody. */
  drop(message: ActiveMessage, isStill: IsStill): Promise<EndResult> {
    return this.#endWith({
      message,
      written: undefined,
      isStill,
      target: undefined,
      need: needOf(undefined, startBytes(message)),
      end: () => {
        const { pendingCount, deferredCount } = message
        const recipientCount = pendingCount + deferredCount
        this.#ending.finish(message, undefined, [], { why: 'deleted', recipientCount })
      },
    })
  }

  /** Reports what has failed, what is given up and what the sender wants to know of, and ends it.
   * @param expired recipients that are given up */
  async finish(message: ActiveMessage, expired: readonly number[], isStill: IsStill): Promise<EndResult> {
    if (!this.room.mayHave(undefined, message)) return this.#noRoom(message)
    const outcomes = [...finals(message), ...expiries(message, expired)]
    await betweenPieces(this.#parts, outcomes.length)
    const written = await report(this.#parts, message, outcomes)
    const reported = toRanges(written === undefined ? [] : outcomes.map(({ index }) => index))
    return this.#endWith({
      message,
      written,
      isStill,
      target: undefined,
      need: needOf(written, startBytes(message) + 5 * reported.length),
      end: () =>
        this.#ending.finish(message, written, reported, { why: 'expired', recipientCount: expired.length }),
    })
  }

  /** Moves what is left of it to a lane. */
  async move(message: ActiveMessage, move: Move, isStill: IsStill): Promise<EndResult> {
    const { lane } = move
    lane.userCount++
    try {
      return await this.#moveTo(lane, message, move, isStill)
    } finally {
      lane.userCount--
    }
  }

  async #moveTo(
    lane: Lane,
    message: ActiveMessage,
    { timeMs, warns = false, changes = {} }: Move,
    isStill: IsStill,
  ): Promise<EndResult> {
    if (!this.room.mayHave(lane, message)) return this.#noRoom(message)
    const { reader, clock } = this.#parts
    const { recipientCount } = message.envelope
    const final = finals(message)
    const late = warns ? delays(message) : []
    await betweenPieces(this.#parts, recipientCount)
    const left = await remainderOf(message, reader)
    const remainder =
      changes.isNew === true ? requeuedRecipients(message.envelope, left, this.#parts.options) : left
    await betweenPieces(this.#parts, recipientCount)
    const data = fixedData(message) ?? ((await reader.data(message)) as Buffer)
    if (remainder !== left) {
      const facts = replacementFacts(message, remainder, message.warnings, changes, nowOf(clock))
      checkFits(this.#parts, messageGroup(facts, remainder.recipients, data))
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
    const besideBytes = (): number => this.#besideBytes(replacementBy(undefined, true))
    // Last, because its spool file, if it needs one, is used from here on.
    const written = await report(this.#parts, message, [...final, ...late], besideBytes)
    await betweenPieces(this.#parts, recipientCount)
    const replacement = replacementBy(written, written !== undefined)
    return lane.logs === undefined
      ? this.#moveInJournal(replacement, isStill)
      : this.#moveToLogs(replacement, lane.logs, isStill)
  }

  #moveToLogs(replacement: Replacement, logs: LaneLogs, isStill: IsStill): Promise<EndResult> {
    const { message, lane, data, written, reported } = replacement
    const dataBytes = Buffer.isBuffer(data) ? frameBytes(data.length) : 0
    const envelopeBytes = laneGroup(replacement, farthest).bytes
    const noteBytes = 5 * reported.length + startBytes(message)
    const need = Object.assign(needOf(written, noteBytes), { envelopeBytes, dataBytes })
    this.#parts.journal.checkFits((written?.group.bytes ?? 0) + noteBytes + noteBytesMax)
    const end = (): void => {
      this.room.replaced()
      this.#ending.replaceInLane(replacement, logs)
    }
    return this.#endWith({ message, written, isStill, target: lane, need, end })
  }

  /** What stands in one group with the report, at the most. */
  #besideBytes(replacement: Replacement): number {
    const { message, lane, reported } = replacement
    const inJournal = lane.logs === undefined ? journalBytes(replacement) : 5 * reported.length + noteBytesMax
    return startBytes(message) + inJournal
  }

  #moveInJournal(replacement: Replacement, isStill: IsStill): Promise<EndResult> {
    const { message, lane, written } = replacement
    const bytes = startBytes(message) + journalBytes(replacement)
    this.#parts.journal.checkFits((written?.group.bytes ?? 0) + bytes)
    return this.#endWith({
      message,
      written,
      isStill,
      target: lane,
      need: needOf(written, bytes),
      end: () => this.#ending.replaceInJournal(replacement),
    })
  }

  /** Ends it in the step in which room is seen, for the mark as well of a message that is started
   * by what ends it.
   * @throws WaybillError DISK_FULL: what was composed is not used */
  async #endWith({ message, written, isStill, target, need, end }: End): Promise<EndResult> {
    const canStart = (): boolean =>
      message.start !== nowhere || canMark(this.#parts, this.#parts.lanes.get(message.place.lane))
    const { life } = this.#parts
    while (isStill()) {
      if (canStart() && this.room.has(target, need)) {
        // What goes wrong here, some of it appended, is no trouble of this message that could be
        // looked at again.
        life.guard(end)
        life.check()
        return 'done'
      }
      if (this.#options.isHopeless(message)) {
        await this.#discard(written)
        throw diskFull('an order')
      }
      if (message.start !== nowhere && this.#options.isFull()) {
        this.room.lacks(target, message, need)
        await this.#discard(written)
        return 'no room'
      }
      await this.roomChange()
    }
    await this.#discard(written)
    return 'overtaken'
  }

  /** @throws WaybillError DISK_FULL */
  #noRoom(message: ActiveMessage): EndResult {
    if (this.#options.isHopeless(message)) throw diskFull('an order')
    return 'no room'
  }

  /** A report that was overtaken is not used: neither is its file. */
  async #discard(written: Report | undefined): Promise<void> {
    const { spool, life } = this.#parts
    if (written?.spool === undefined || life.isOver) return
    await spool.giveUp(written.spool)
  }
}

/** What an end needs of the journal: its report, and more in the same group. */
const needOf = (written: Report | undefined, moreBytes: number): Need => ({
  envelopeBytes: 0,
  dataBytes: 0,
  journalBytes: (written?.group.bytes ?? 0) + moreBytes,
})

/** Recipients that need no further attempt and are still to be reported. */
const finals = (message: ActiveMessage): ReportedOutcome[] => [
  ...outcomesOf(message.notesOf('failed'), message.unreportedFailures(), ({ status, text, remote }) => ({
    action: 'failed',
    status,
    text,
    remote,
  })),
  // What is said of a delivery to a mailbox is our own word: where its file lies, for one. The
  // caller does not get that error.
  ...outcomesOf(
    message.notesOf('delivered'),
    message.unreportedSuccesses(),
    ({ status, text, relayed, remote }) =>
      relayed === undefined
        ? { action: 'delivered', status, text: '' }
        : { action: 'relayed', status, text, remote },
  ),
]

/** Recipients that are given up, as far as the sender wants to be told of that. */
const expiries = (message: ActiveMessage, expired: readonly number[]): ReportedOutcome[] =>
  expiriesOf(
    message,
    expired.filter((index) => message.tells(index, 'failure')),
  )

/** Late recipients that are reported, with the reason of their last attempt. */
const delays = (message: ActiveMessage): ReportedOutcome[] =>
  outcomesOf(
    reasonsOf(message),
    message.indexesIn('deferred').filter((index) => message.tells(index, 'delay')),
    ({ status, text, remote }) => ({ action: 'delayed', status, text, remote }),
  )
