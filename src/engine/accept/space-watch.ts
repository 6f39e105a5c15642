/** Watches the free room of the disk. New mail is refused below a floor, so that what was accepted
 * can still be deferred: replacements and large reports need room that the journal's reserve does
 * not give.
 * Invariant: an answer that refuses mail is at most a second old, except while the disk does not
 * answer. Only mail that an older answer would refuse waits for a new one, and not for long. The
 * clock is read once a sync. */
import { backupWithoutRoom } from '../life/backup-pins.js'
import type { DiskSpace } from '../../disk/disk.js'
import { WaybillError } from '../../errors.js'
import type { Parts } from '../life/parts.js'

const askedEveryMs = 1000
/** Mail waits for an answer no longer than this; then what the last one said holds. */
const answerWaitMs = 10_000
/** Files that must still be possible: segments, and the data of large messages. */
const freeFilesMin = 100

/** The free room of a disk. */
export interface Room {
  readonly freeBytes: number
  readonly freeFiles: number
  /** Is there so little that new mail is refused? */
  readonly isShort: boolean
  /** What is short; undefined when there is enough of both. */
  readonly shortOf: 'bytes' | 'files' | undefined
}

/** @param freeBytesMin as the option of that name */
export function roomOf({ freeBytes, freeFiles }: DiskSpace, freeBytesMin: number): Room {
  const shortOf = freeBytes < freeBytesMin ? 'bytes' : freeFiles < freeFilesMin ? 'files' : undefined
  return { freeBytes, freeFiles, isShort: shortOf !== undefined, shortOf }
}

const warningOf = {
  bytes: 'the disk is short of room: no new mail is accepted until there is more',
  files: `the disk has fewer than ${freeFilesMin} free inodes: no new mail is accepted until there are more`,
} as const

export class SpaceWatch {
  readonly #parts: Pick<Parts, 'options' | 'life' | 'events' | 'journal' | 'backups'>
  /** Mail that waits for an answer is looked at again. */
  readonly #onChange: () => void
  #answeredAtMs = -Infinity
  #isAsked = false
  /** What is being asked may be answered with what was before. */
  #isOutdated = false
  #isOverdue = false
  #shortOf: Room['shortOf']

  constructor(
    parts: Pick<Parts, 'options' | 'life' | 'events' | 'journal' | 'backups'>,
    onChange: () => void,
  ) {
    this.#parts = parts
    this.#onChange = onChange
  }

  /** The disk is short of room, as far as is known. */
  get isShort(): boolean {
    // Mail that becomes durable asks again; without such mail, any question does.
    if (this.#isShort || this.#answeredAtMs === -Infinity) this.look()
    return this.#isShort
  }

  /** The answer to mail that is refused for it. */
  get refusal(): WaybillError {
    const reason = this.#shortOf === 'files' ? 'the disk has too few free inodes' : 'the disk is too full'
    return new WaybillError('DISK_FULL', `${reason} to accept mail`)
  }

  get #isShort(): boolean {
    return this.#shortOf !== undefined
  }

  /** An answer is under way, and worth waiting for. */
  get isAwaited(): boolean {
    return this.#isAsked && !this.#isOverdue
  }

  /** Asks, if the last answer is old. One question at a time: a disk that is silent holds the
   * thread of each. */
  look(): void {
    if (this.#isAsked) return
    if (this.#parts.options.clock.monotonicMs() - this.#answeredAtMs < askedEveryMs) return
    this.#isAsked = true
    this.#parts.life.run(this.#ask())
  }

  /** Segments have taken room, or given it back, without any mail:
   *    1. there is room at the start
   *    2. the reserve of spares is made of it
   *    3. nobody is warned, and the first message is refused */
  renew(): void {
    if (this.#parts.life.isOver) return
    this.#isOutdated = this.#isAsked
    this.#answeredAtMs = -Infinity
    this.look()
  }

  async #ask(): Promise<void> {
    const { options, life, events, journal, backups } = this.#parts
    const { disk, clock, freeBytesMin } = options
    // While there is room nobody waits.
    const overdue = this.#isShort ? clock.after(answerWaitMs, () => this.#giveUp()) : undefined
    const { shortOf } = roomOf(await disk.space(), freeBytesMin)
    overdue?.cancel()
    const isShort = shortOf !== undefined
    if (isShort && !this.#isShort && !life.isOver)
      events.emit('warning', { code: 'DISK_FULL', message: warningOf[shortOf] })
    this.#shortOf = shortOf
    if (isShort) backups.lose(backupWithoutRoom())
    //    1. a burst of mail leaves spares
    //    2. something else takes the rest of the disk
    //    3. the queue is empty, holds the room, and refuses mail for ever
    if (isShort && !life.isOver) life.run(journal.shrink())
    // From when it comes:
    //    1. an answer takes a second
    //    2. the waiting submission gets it, and finds it old
    //    3. it asks again, and so on for ever
    this.#answeredAtMs = clock.monotonicMs()
    this.#isAsked = false
    this.#isOverdue = false
    if (this.#isOutdated) this.renew()
    this.#onChange()
  }

  #giveUp(): void {
    this.#isOverdue = true
    this.#onChange()
  }
}
