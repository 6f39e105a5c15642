/** Attempts suspect messages one at a time: those that recoveries found attempted, without
 * progress.
 * Invariant: the next one is admitted when the outcome of the one before is durable, or that one
 * has done no harm for a while. Those that were found least often go first, and the first one a
 * while after the recovery.
 * Why:
 *   1. A message ends the process when it is attempted, and a recovery finds it again.
 *   2. So it finds the messages that were attempted beside it: none of them has an outcome.
 *   3. Together they are found too often, and all are put on hold.
 * Durably: the next one may end the process, which loses an outcome that is not durable. Time in
 * which no attempt can begin does not count. */
import type { ActiveMessage } from '../../active/active-message.js'
import type { Timer } from '../../base/clock.js'
import type { Parts } from '../life/parts.js'

/** Long enough for an attempt that ends the process at once, and for mail beside it. */
const aloneMs = 1000
/** Found so often, a message may be to blame. After a single crash all that was under way is. */
const foundCountMin = 2

export class PoisonSuspects {
  readonly #parts: Pick<Parts, 'journal' | 'options' | 'life'>
  readonly #admit: (message: ActiveMessage) => void
  readonly #isHeldUp: () => boolean
  readonly #waiting: ActiveMessage[] = []
  #alone: ActiveMessage | undefined
  #timer: Timer | undefined

  /** @param isHeldUp attempts that are due do not begin now */
  constructor(
    parts: Pick<Parts, 'journal' | 'options' | 'life'>,
    admit: (message: ActiveMessage) => void,
    isHeldUp: () => boolean,
  ) {
    this.#parts = parts
    this.#admit = admit
    this.#isHeldUp = isHeldUp
  }

  /** A recovery has found it. @returns false when nothing speaks against it */
  takes(message: ActiveMessage): boolean {
    const { fruitlessRecoveriesMax: max } = this.#parts.options
    if (message.recoveries < Math.min(foundCountMin, max === 0 ? Infinity : max)) return false
    const before = this.#waiting.findIndex(({ recoveries }) => recoveries > message.recoveries)
    this.#waiting.splice(before < 0 ? this.#waiting.length : before, 0, message)
    this.#timer ??= this.#later()
    return true
  }

  /** Something else becomes of it. @returns false when it does not wait here */
  remove(message: ActiveMessage): boolean {
    const at = this.#waiting.indexOf(message)
    if (at >= 0) this.#waiting.splice(at, 1)
    return at >= 0
  }

  /** An attempt on it begins. */
  began(message: ActiveMessage): void {
    if (message !== this.#alone) return
    this.#timer?.cancel()
    this.#timer = this.#later()
  }

  /** The outcome of an attempt on it has been appended. */
  cleared(message: ActiveMessage): void {
    if (message === this.#alone) this.#parts.life.run(this.#nextBehind(message))
  }

  async #nextBehind(message: ActiveMessage): Promise<void> {
    const { journal } = this.#parts
    await journal.whenDurable(journal.end)
    if (message !== this.#alone) return
    this.#timer?.cancel()
    this.#next()
  }

  #next(): void {
    this.#alone = this.#waiting.shift()
    this.#timer = this.#alone === undefined ? undefined : this.#later()
    if (this.#alone !== undefined) this.#admit(this.#alone)
  }

  #later(): Timer {
    const { options, life } = this.#parts
    return options.clock.after(aloneMs, () =>
      life.guard(() => {
        if (this.#isHeldUp()) this.#timer = this.#later()
        else this.#next()
      }),
    )
  }
}
