/** Bounds the syncs of mailboxes that Node's pool of threads has to do.
 * Invariant: syncs begin in the order in which they were asked for, no more at once than the pool
 * has threads. Behind a slow one, or beside one that lasts, one thread stays free of them; the
 * first ones on a disk that hangs take all.
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
/** So long behind a slow one others may be slow: those of directories between are quick. */
export const slowAgainMs: number = 2000

/** A sync under way. */
interface Begun {
  readonly atMs: number
}

export class SyncTurns {
  readonly #threadCount: number
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #waiting: ((begun: Begun) => void)[] = []
  /** Since when each goes on, the oldest first. */
  readonly #begun = new Set<Begun>()
  #slowUntilMs = 0

  constructor(threadCount: number, clock: Pick<Clock, 'monotonicMs'> = systemClock) {
    this.#threadCount = threadCount
    this.#clock = clock
  }

  async inTurn<T>(sync: () => Promise<T>): Promise<T> {
    const begun = this.#hasRoom
      ? this.#begin()
      : await new Promise<Begun>((begin) => this.#waiting.push(begin))
    try {
      return await sync()
    } finally {
      const nowMs = this.#clock.monotonicMs()
      if (nowMs - begun.atMs > slowSyncMs) this.#slowUntilMs = nowMs + slowAgainMs
      this.#begun.delete(begun)
      this.#beginNext()
    }
  }

  #begin(): Begun {
    const begun = { atMs: this.#clock.monotonicMs() }
    this.#begun.add(begun)
    return begun
  }

  get #hasRoom(): boolean {
    const nowMs = this.#clock.monotonicMs()
    const [oldest] = this.#begun
    const isSlow = nowMs < this.#slowUntilMs || (oldest !== undefined && nowMs - oldest.atMs > slowSyncMs)
    return this.#begun.size < (isSlow ? Math.max(1, this.#threadCount - 1) : this.#threadCount)
  }

  #beginNext(): void {
    while (this.#waiting.length > 0 && this.#hasRoom) this.#waiting.shift()!(this.#begin())
  }
}

/** Of this process: its transports share the pool. */
export const syncTurns: SyncTurns = new SyncTurns(threadCountOf(process.env['UV_THREADPOOL_SIZE']))
