/** Room in the journal for what records say to consumers of outcomes.
 * Invariant: an attempt gives up as much as was kept for it, also when the first consumer has come,
 * or the last has gone, meanwhile. */
import type { Journal } from '../../log/journal.js'
import type { Outcomes } from '../outcomes/outcomes.js'
import { notesBytesMost, type OutcomeNote } from '../../record/outcome-note.js'
import type { AttemptFields } from '../../record/consumer-fields.js'
import type { Entry } from '../../scheduler/scheduler.js'
import type { Job } from './job.js'
import { outcomeBytesMost, toldBytesMost, toldOf } from './outcome-notes.js'
import { nobodyAsked, type Origin } from './recipient-events.js'

/** Of addresses in a record. */
const addressesBytesMax = 64 * 1024

/** More than all else of the record. */
const besideBytes = 4096

/** Marked while room is kept for it. */
type Attempt = Pick<Entry<Job>, 'message' | 'recipients' | 'hostMark'>
type Addressed = Pick<Job, 'message' | 'addresses'>

/** undefined: nobody consumes outcomes. */
export type FieldsForConsumers = AttemptFields | undefined

export class OutcomeRoom {
  readonly #journal: Journal
  readonly #outcomes: Outcomes

  constructor(journal: Journal, outcomes: Outcomes) {
    this.#journal = journal
    this.#outcomes = outcomes
  }

  /** The attempt begins. */
  keep(attempt: Attempt): void {
    if (!this.#outcomes.isOn) return
    attempt.hostMark = true
    this.#journal.kept.keep(this.#bytesFor(attempt.recipients.length))
  }

  /** It has ended. Of one that began before the first consumer came it says so where there is room.
   * @returns what its record says */
  giveUp(attempt: Attempt, notes: readonly OutcomeNote[], origin: Origin): FieldsForConsumers {
    const recipientCount = attempt.recipients.length
    if (attempt.hostMark) {
      attempt.hostMark = false
      this.#journal.kept.giveUp(this.#bytesFor(recipientCount))
    } else if (!this.#outcomes.isOn || !this.#hasRoom(recipientCount)) return undefined
    return toldOf(attempt.message, notes, this.#addressesBytesMax(recipientCount), origin)
  }

  #hasRoom(recipientCount: number): boolean {
    const bytes = outcomeBytesMost(recipientCount) + this.#bytesFor(recipientCount)
    return this.#journal.room(bytes, 'accepted mail') === 'yes'
  }

  /** Of recipients without an attempt. */
  now(job: Addressed, recipients: readonly number[], notes: readonly OutcomeNote[]): FieldsForConsumers {
    if (!this.#outcomes.isOn) return undefined
    return toldOf(job, notes, this.#addressesBytesMax(recipients.length), nobodyAsked)
  }

  /** For so many recipients without an attempt; 0: nobody consumes outcomes. */
  bytesNow(recipientCount: number): number {
    return this.#outcomes.isOn ? this.#bytesFor(recipientCount) : 0
  }

  #bytesFor(recipientCount: number): number {
    return toldBytesMost(recipientCount, this.#addressesBytesMax(recipientCount))
  }

  /** Bytes of addresses in one record, which holds the notes as well; where they take more it has
   * none. */
  #addressesBytesMax(recipientCount: number): number {
    const { grid, groupBytesMost } = this.#journal
    const leftBytes = groupBytesMost - notesBytesMost(recipientCount) - besideBytes
    return Math.max(0, Math.min(addressesBytesMax, grid.segmentBytes / 16, leftBytes))
  }
}
