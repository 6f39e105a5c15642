/** Bounds the syncs of mailboxes that Node's pool of threads has to do.
 * Invariant: syncs begin in the order in which they were asked for, no more at once than the pool
 * has threads. While they are slow, one thread stays free of them.
 *    1. mailboxes lie on a slow disk, and a hundred deliveries sync their files
 *    2. the pool has one line: four syncs are under way, the others wait in it
 *    3. the journal's next write, on a fast disk, stands behind all of them: nothing is accepted
 * Why only while they are slow: syncs at once share a commit of the file system, so with a thread
 * less Maildirs on an ordinary disk take fewer messages. */
import { systemClock, type Clock } from '../../base/clock.js'

/** Those that Node has without the variable. */
const threadsDefault = 4

/** @param said UV_THREADPOOL_SIZE */
export const threadCountOf = (said: string | undefined): number => Math.max(1, Number(said) || threadsDefault)

/** A sync that takes longer keeps its thread from the journal for too long, milliseconds. */
export const slowSyncMs: number = 100

export class SyncTurns {
  readonly #threadCount: number
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #waiting: (() => void)[] = []
  #count = 0
  /** The last one was. */
  #isSlow = false

  constructor(threadCount: number, clock: Pick<Clock, 'monotonicMs'> = systemClock) {
    this.#threadCount = threadCount
    this.#clock = clock
  }

  async inTurn<T>(sync: () => Promise<T>): Promise<T> {
    if (this.#hasRoom) this.#count++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    const beganMs = this.#clock.monotonicMs()
    try {
      return await sync()
    } finally {
      this.#isSlow = this.#clock.monotonicMs() - beganMs > slowSyncMs
      this.#count--
      this.#beginNext()
    }
  }

  get #hasRoom(): boolean {
    const countMax = this.#isSlow ? Math.max(1, this.#threadCount - 1) : this.#threadCount
    return this.#count < countMax
  }

  #beginNext(): void {
    while (this.#waiting.length > 0 && this.#hasRoom) {
      this.#count++
      this.#waiting.shift()!()
    }
  }
}

/** Of this process: its transports share the pool. */
export const syncTurns: SyncTurns = new SyncTurns(threadCountOf(process.env['UV_THREADPOOL_SIZE']))
