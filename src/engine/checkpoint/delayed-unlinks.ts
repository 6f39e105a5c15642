/** Unlinks the spool files of mail that has ended: each file when a batch behind that of the finish
 * is durable, too. The last batch may rot, and a start takes it for torn: then the mail is there
 * again, and so is its data:
 *    1. finish durable
 *    2. its file unlinked
 *    3. rot in its batch
 *    4. restart cuts the batch: mail whose data is gone, returned as too old
 * Invariant: no file waits for a batch that cannot come. One that waits asks for a checkpoint: this
 * batch may hold the record of the last one that was due. Where the disk is full no file waits,
 * because its room may be the missing room. */
import type { Position } from '../../base/position.js'
import { Ring } from '../../base/ring.js'
import type { Journal } from '../../log/journal.js'

export class DelayedUnlinks {
  readonly #journal: Pick<Journal, 'durableEnd'>
  readonly #isFull: () => boolean
  /** In the order of their batches. */
  readonly #waiting = new Ring<{ readonly end: Position; readonly go: () => void }>()

  /** @param isFull the disk was, when it was tried last */
  constructor(journal: Pick<Journal, 'durableEnd'>, isFull: () => boolean) {
    this.#journal = journal
    this.#isFull = isFull
  }

  /** Settles when a batch is durable behind all that is durable now. */
  oneMore(): Promise<void> {
    return new Promise((go) => {
      this.#waiting.push({ end: this.#journal.durableEnd, go })
      this.look()
    })
  }

  /** A batch is durable, or there is no room. */
  look(): void {
    const mayGo = this.#isFull() ? Infinity : this.#journal.durableEnd
    for (
      let first = this.#waiting.peek();
      first !== undefined && first.end < mayGo;
      first = this.#waiting.peek()
    ) {
      this.#waiting.shift()
      first.go()
    }
  }
}
