/** A message that is started and not yet finished or replaced: what is known of each recipient.
 * Invariant: `apply` is the only writer of what is known of recipients, and what it applies stands
 * in the journal, so replaying the journal gives the same state as living through it. A recipient
 * leaves `pending` once in the life of a start; one that is given up moves from `deferred` to
 * `failed` and still has one note, so the room reserved for notes suffices. */
import { assert } from '../base/assert.js'
import { nowhere, type Position } from '../base/position.js'
import { tells, type NotifyWhen } from '../base/notification.js'
import { countIn, forEachIn, toRanges, type Ranges } from '../base/ranges.js'
import { askedOfEach, asksFor } from '../record/dsn.js'
import { withoutRecipients, type Envelope } from '../record/envelope.js'
import { condensed, type OutcomeKind, type OutcomeNote } from '../record/outcome-note.js'
import type { Carried } from '../record/start.js'
import type { LimitTurns } from './limit-turns.js'

export type RecipientState = 'pending' | OutcomeKind

export type ActiveRecord =
  | { readonly kind: 'delivery'; readonly notes: readonly OutcomeNote[]; readonly finishes?: boolean }
  | { readonly kind: 'reported'; readonly reported: Ranges; readonly warnings: number }
  | { readonly kind: 'replacement'; readonly lane: number; readonly timeMs: number }

/** Where the envelope of an active message stands. */
export interface EnvelopePlace {
  readonly lane: number
  readonly position: Position
  /** Length of its frame. */
  readonly bytes: number
  /** It was started from the middle of its lane. */
  readonly outOfOrder: boolean
}

/** The place of one that is started in its turn. A class, because it is kept (base/README.md). */
export class PlaceInTurn implements EnvelopePlace {
  readonly lane: number
  readonly position: Position
  readonly bytes: number
  readonly outOfOrder = false

  constructor(lane: number, at: Position, bytes: number) {
    this.lane = lane
    this.position = at
    this.bytes = bytes
  }
}

export class ActiveMessage {
  /** Without its recipients, once `forgetRecipients` was called. */
  envelope: Envelope
  /** Another one once it was relocated. */
  place: EnvelopePlace
  /** The newest start record: what later records name. `nowhere`: it waits, and the record that
   * ends it starts it. */
  start: Position
  /** The data, while it is cheap to keep. */
  data: Buffer | undefined
  /** Bytes counted for its recipients in memory; 0 if they are not counted. */
  recipientBytes = 0
  /** Recoveries in a row that found it attempted and without progress; 0 when there has been
   * some. */
  recoveries: number
  /** Where the journal says that this life has attempted it; `nowhere`: it does not say so. */
  attemptNote: Position = nowhere
  /** Somebody asked for mail to this nexthop, or for all of it: it was started for that. */
  askedFor: { readonly nexthop: string | undefined } | undefined = undefined
  /** Deliveries of it that wait for their turns under a limit; kept when it is attempted again. */
  turns: LimitTurns | undefined = undefined
  /** Its message in the scheduler, while it is there. */
  job: object | undefined = undefined
  /** Readers that hold its segments beside the message itself: it stays where it is. */
  readerCount = 0
  /** Its data, while they are being read for several attempts. */
  reading: Promise<Buffer> | undefined = undefined
  /** When it expires, milliseconds since 1970, from its attempt on; 0: it does not, or has. */
  watchedUntil = 0
  /** Neighbours in the set of active messages; only the set changes them. */
  older: ActiveMessage | undefined = undefined
  newer: ActiveMessage | undefined = undefined
  /** Of each recipient its state's index in `states`; undefined while all have the state
   * `#common`: one object less for a message with one recipient. */
  #states: Uint8Array | undefined
  #common: RecipientState = 'pending'
  #attempted = false
  #finished = false
  /** The requests of each recipient, decoded when they are first needed. */
  #asked: Uint8Array | undefined
  readonly #counts: Record<RecipientState, number>
  /** Failed and deferred, in order; delivered, too, if that is reported. The reason of a deferral
   * stays here when its recipient is given up: `#currentNotes` leaves it out. */
  #notes: OutcomeNote[] | undefined
  /** Some recipients left `deferred` for `failed` after the reasons in `#notes` were noted. */
  #hasStaleReasons = false
  #reported: Ranges = none
  #warnings: number
  #replacement: Carried['replacement']

  constructor(envelope: Envelope, place: EnvelopePlace, start: Position, carried: Carried | undefined) {
    this.envelope = envelope
    this.place = place
    this.start = start
    this.recoveries = carried?.recoveries ?? 0
    this.#counts = { pending: envelope.recipientCount, delivered: 0, deferred: 0, failed: 0 }
    // Its earlier notes are unknown if it was carried while its envelope could not be read.
    this.#warnings = Math.max(carried?.warnings ?? 0, envelope.warnings)
    if (carried === undefined) return
    this.#applyNotes(carried.notes)
    this.#reported = carried.reported
    this.#replacement = carried.replacement
  }

  apply(record: ActiveRecord): void {
    switch (record.kind) {
      case 'delivery':
        this.#attempted = true
        if (record.notes.length > 0) this.recoveries = 0
        this.#finished = record.finishes === true
        this.#applyNotes(record.notes)
        break
      case 'reported':
        this.#reported = toRanges([...indexesOf(this.#reported), ...indexesOf(record.reported)])
        this.#warnings = record.warnings
        break
      case 'replacement':
        this.#replacement = { lane: record.lane, timeMs: record.timeMs }
        break
    }
  }

  get pendingCount(): number {
    return this.#counts.pending
  }

  get deferredCount(): number {
    return this.#counts.deferred
  }

  get failedCount(): number {
    return this.#counts.failed
  }

  get deliveredCount(): number {
    return this.#counts.delivered
  }

  /** Delay warnings that the sender had. */
  get warnings(): number {
    return this.#warnings
  }

  /** The report on the last attempt is already written, with a replacement that recovery
   * did not trust. */
  get isReportedOn(): boolean {
    return this.#reported.length > 0 || this.#warnings > this.envelope.warnings
  }

  /** A replacement of an earlier life that is not trusted. */
  get replacement(): Carried['replacement'] {
    return this.#replacement
  }

  /** Its finish is recorded already, with its last outcome. */
  get isFinished(): boolean {
    return this.#finished
  }

  /** Do these outcomes leave nothing to do and nothing to report? */
  isFinishedBy(notes: readonly OutcomeNote[]): boolean {
    if (this.#replacement !== undefined || this.envelope.data.kind === 'spool' || this.tellsSuccess)
      return false
    let { delivered } = this.#counts
    for (const { kind, ranges } of notes) {
      if (kind !== 'delivered') return false
      delivered += countIn(ranges)
    }
    return delivered === this.envelope.recipientCount
  }

  /** An attempt was recorded since the envelope was written, or an outcome. */
  get hasOutcome(): boolean {
    return this.#attempted || this.#counts.pending < this.envelope.recipientCount
  }

  stateOf(index: number): RecipientState {
    return this.#states === undefined ? this.#common : states[this.#states[index]!]!
  }

  /** The first recipient from `index` on that waits for an attempt; `recipientCount` when none
   * does. */
  pendingFrom(index: number): number {
    const { recipientCount } = this.envelope
    let at = index
    while (at < recipientCount && this.stateOf(at) !== 'pending') at++
    return at
  }

  /** Its recipients are read from the log from here on: before the scheduler has been given any. */
  forgetRecipients(): void {
    assert(this.job === undefined, 'recipients are forgotten before the scheduler has any')
    this.envelope = withoutRecipients(this.envelope)
  }

  indexesIn(state: RecipientState): number[] {
    const indexes: number[] = []
    for (let index = 0; index < this.envelope.recipientCount; index++)
      if (this.stateOf(index) === state) indexes.push(index)
    return indexes
  }

  /** The notes of recipients in this state. */
  notesOf(kind: OutcomeKind): readonly OutcomeNote[] {
    return this.#currentNotes().filter((note) => note.kind === kind)
  }

  /** Without the reasons of recipients that no longer wait. One pass over all recipients, however
   * many were given up. */
  #currentNotes(): readonly OutcomeNote[] {
    if (this.#notes === undefined || !this.#hasStaleReasons) return this.#notes ?? none
    this.#notes = this.#notes.flatMap((note) => {
      if (note.kind !== 'deferred') return [note]
      const left = indexesOf(note.ranges).filter((index) => this.stateOf(index) === 'deferred')
      return left.length === 0 ? [] : [{ ...note, ranges: toRanges(left) }]
    })
    this.#hasStaleReasons = false
    return this.#notes
  }

  /** Some deliveries are to be reported. */
  get tellsSuccess(): boolean {
    const { dsn } = this.envelope
    return dsn !== undefined && asksFor(dsn, 'success')
  }

  /** The request of a recipient, as base/notification.ts encodes it. */
  askedOf(index: number): number {
    const { dsn, recipientCount } = this.envelope
    return dsn === undefined ? 0 : (this.#asked ??= askedOfEach(dsn, recipientCount))[index]!
  }

  /** Is this event of the recipient to be reported? */
  tells(index: number, when: NotifyWhen): boolean {
    return tells(this.askedOf(index), when)
  }

  /** Failed recipients that are still to be reported. */
  unreportedFailures(): number[] {
    return this.#unreported('failed', 'failure')
  }

  /** The same of deliveries, except those that the next server reports. */
  unreportedSuccesses(): number[] {
    if (!this.tellsSuccess) return []
    const passedOn = new Set(
      this.notesOf('delivered')
        .filter(({ relayed }) => relayed === 'with-dsn')
        .flatMap(({ ranges }) => indexesOf(ranges)),
    )
    return this.#unreported('delivered', 'success').filter((index) => !passedOn.has(index))
  }

  #unreported(state: OutcomeKind, when: NotifyWhen): number[] {
    const reported = new Set(indexesOf(this.#reported))
    return this.indexesIn(state).filter((index) => !reported.has(index) && this.tells(index, when))
  }

  /** All of it, for a start that takes the place of this one. */
  carried(): Carried {
    const delivered = this.tellsSuccess ? none : toRanges(this.indexesIn('delivered'))
    const notes: OutcomeNote[] = [...condensed(this.#currentNotes())]
    if (delivered.length > 0) notes.push({ kind: 'delivered', status: '', text: '', ranges: delivered })
    return {
      start: this.start,
      notes,
      reported: this.#reported,
      warnings: this.#warnings,
      recoveries: this.recoveries,
      replacement: this.#replacement,
    }
  }

  #applyNotes(notes: readonly OutcomeNote[]): void {
    for (const note of notes) {
      const count = countIn(note.ranges)
      const deferredBefore = this.#counts.deferred
      if (count === this.envelope.recipientCount && this.#states === undefined) this.#settleAll(note.kind)
      else this.#settleSome(note)
      this.#counts[note.kind] += count
      if (this.#counts.deferred < deferredBefore) this.#hasStaleReasons = true
      if (note.kind !== 'delivered' || this.tellsSuccess) (this.#notes ??= []).push(note)
    }
  }

  #settleAll(kind: OutcomeKind): void {
    assert(leavesFor(this.#common, kind), 'an outcome is recorded for a recipient that waits for one')
    this.#counts[this.#common] = 0
    this.#common = kind
  }

  #settleSome({ kind, ranges }: OutcomeNote): void {
    const { recipientCount } = this.envelope
    const stateOf = (this.#states ??= new Uint8Array(recipientCount).fill(states.indexOf(this.#common)))
    const next = states.indexOf(kind)
    forEachIn(ranges, (index) => {
      const state = states[stateOf[index]!]!
      assert(leavesFor(state, kind), 'an outcome is recorded for a recipient that waits for one')
      this.#counts[state]--
      stateOf[index] = next
    })
  }
}

const states: readonly RecipientState[] = ['pending', 'delivered', 'deferred', 'failed']

const leavesFor = (state: RecipientState, kind: OutcomeKind): boolean =>
  state === 'pending' || (state === 'deferred' && kind === 'failed')

const none: readonly never[] = []

function indexesOf(ranges: Ranges): number[] {
  const indexes: number[] = []
  forEachIn(ranges, (index) => indexes.push(index))
  return indexes
}
