/** Is the disk short of room? New mail is refused below a floor, so that what was accepted can still be deferred: replacements and
 * large reports need room that the journal's reserve does not give.
 * Invariant: the answer is at most about a second old while mail comes in, and none that refuses mail is older. Nobody waits for it but mail that an
 * old one would refuse, and nobody looks at the clock for it but once a sync. */
import type { DiskSpace } from '../disk/disk.js'
import type { Parts } from './parts.js'

const askedEveryMs = 1000
/** Files that must still be possible: segments, and the data of large messages. */
const freeFilesMin = 100

/** Room on the disk. */
export interface Room {
  readonly freeBytes: number
  readonly freeFiles: number
  /** So little that new mail is refused. */
  readonly isShort: boolean
}

export const roomOf = ({ freeBytes, freeFiles }: DiskSpace, freeBytesMin: number): Room => ({
  freeBytes,
  freeFiles,
  isShort: freeBytes < freeBytesMin || freeFiles < freeFilesMin,
})

export class SpaceWatch {
  readonly #parts: Pick<Parts, 'options' | 'life' | 'events'>
  readonly #onAnswer: () => void
  #askedAtMs = -Infinity
  #isAsked = false
  #isShort = false

  constructor(parts: Pick<Parts, 'options' | 'life' | 'events'>, onAnswer: () => void) {
    this.#parts = parts
    this.#onAnswer = onAnswer
  }

  /** The disk is short of room, as far as is known. */
  get isShort(): boolean {
    // Only mail that becomes durable looks anew: where none does, whoever asks.
    if (this.#isShort || this.#askedAtMs === -Infinity) this.look()
    return this.#isShort
  }

  /** An answer is under way. */
  get isAsked(): boolean {
    return this.#isAsked
  }

  /** Asks, if the last answer is old. */
  look(): void {
    const nowMs = this.#parts.options.clock.monotonicMs()
    if (nowMs - this.#askedAtMs < askedEveryMs) return
    this.#askedAtMs = nowMs
    this.#isAsked = true
    this.#parts.life.run(this.#ask())
  }

  async #ask(): Promise<void> {
    const { options, life, events } = this.#parts
    const { disk, freeBytesMin } = options
    const { isShort } = roomOf(await disk.space(), freeBytesMin)
    const message = 'the disk is short of room: no new mail is accepted until there is more'
    if (isShort && !this.#isShort && !life.isOver) events.emit('warning', { code: 'DISK_FULL', message })
    this.#isShort = isShort
    this.#isAsked = false
    this.#onAnswer()
  }
}
