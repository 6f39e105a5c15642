/** Delays an attempt until no crash can forget that it begins.
 * Invariant: the first attempt on a message of an earlier life begins only when the journal durably
 * says that the message is worked on, and, if a recovery found it, that it is attempted. So each
 * life that the message ends counts. A message that this life accepted and that begins in its turn
 * waits for nothing: it costs no sync.
 * Why:
 *   1. An attempt ends the process in the step in which it begins.
 *   2. The start was appended, and is lost with the process.
 *   3. The next life finds the message as if nothing had happened, for ever. */
import type { ActiveMessage } from '../../active/active-message.js'
import { nowhere, type Position } from '../../base/position.js'
import { Ring } from '../../base/ring.js'
import type { Entry } from '../../scheduler/scheduler.js'
import type { Parts } from '../life/parts.js'
import type { Job } from './job.js'
import { appendOutcomes } from './outcome-notes.js'

interface Waiting {
  readonly entry: Entry<Job>
  /** What stands there is durable before it begins. */
  readonly at: Position
}

export class StartBarrier {
  readonly #parts: Pick<Parts, 'journal' | 'lanes' | 'options'>
  readonly #waiting = new Ring<Waiting>()

  constructor(parts: Pick<Parts, 'journal' | 'lanes' | 'options'>) {
    this.#parts = parts
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** Keeps an entry until its attempt may begin. @returns false when it may begin now */
  keeps(entry: Entry<Job>): boolean {
    const { journal } = this.#parts
    const at = this.#lastRecordOf(entry.message.message)
    if (at < journal.durableEnd) return false
    this.#waiting.push({ entry, at })
    journal.want()
    return true
  }

  /** The next entry that was kept and may begin now. */
  take(): Entry<Job> | undefined {
    const next = this.#waiting.peek()
    if (next === undefined || next.at >= this.#parts.journal.durableEnd) return undefined
    return this.#waiting.shift()!.entry
  }

  #lastRecordOf(message: ActiveMessage): Position {
    const { journal, options } = this.#parts
    if (message.recoveries > 0 && message.attemptNote === nowhere) {
      message.attemptNote = appendOutcomes(journal, message, [], false, options.clock.wallMs())
      message.apply({ kind: 'delivery', notes: [] })
    }
    if (message.attemptNote !== nowhere) return message.attemptNote
    return this.#mayBeInherited(message) ? message.start : nowhere
  }

  /** One that was written anew stands behind that end, and out of order. */
  #mayBeInherited({ place }: ActiveMessage): boolean {
    const { lanes } = this.#parts
    if (place.outOfOrder) return true
    return lanes.has(place.lane) && place.position < lanes.get(place.lane).inheritedEnd
  }
}
