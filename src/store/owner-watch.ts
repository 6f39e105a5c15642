/** Decides whether a queue may be claimed, from what others were seen to do.
 * Invariants:
 * 1. No two clocks are compared: all instants are of this node's monotonic clock, and a beat only
 * moves or does not.
 * 2. Silence counts only while this node itself can commit: one that is cut off, or sees a store
 * without standbys, judges nobody.
 *    1. No standby is left, and every commit waits.
 *    2. The owner cannot beat, and neither can anybody else.
 *    3. A standby returns. A node that has counted meanwhile takes a queue whose owner lives.
 * 3. The home node takes its queue back from another one at once. From a process with the same name
 * it takes it when the connections of that process are gone or its beat stands still. So two
 * processes with one name do not fence each other for ever. */
import type { Standing } from './store.js'

export type Verdict =
  | 'claim'
  /** Its owner lives. */
  | 'owned'
  | 'wait'

export interface WatchOptions {
  readonly ttlMs: number
  readonly node: string
  readonly isHome: boolean
  /** An adopter waits so long beyond what it must, so that the least loaded is first. */
  readonly delayMs: number
}

export class Watch {
  readonly #options: WatchOptions
  #seen: { readonly beat: number; readonly epoch: number; readonly sinceMs: number } | undefined

  constructor(options: WatchOptions) {
    this.#options = options
  }

  /** This node could not commit in time: what it has seen says nothing. */
  forget(): void {
    this.#seen = undefined
  }

  look({ epoch, nonce, node, beat, isConnected }: Standing, nowMs: number): Verdict {
    if (nonce === undefined) return 'claim'
    const { ttlMs, isHome, delayMs } = this.#options
    const isOwn = node === this.#options.node
    if (isHome && (!isOwn || !isConnected)) return 'claim'
    const seen = this.#seen
    if (seen?.beat !== beat || seen.epoch !== epoch) {
      this.#seen = { beat, epoch, sinceMs: nowMs }
      return seen === undefined ? 'wait' : 'owned'
    }
    const silentMs = nowMs - seen.sinceMs - (isOwn ? 0 : delayMs)
    // A restart of the owner's own node is to come first.
    return silentMs >= (isConnected && !isOwn ? ttlMs : ttlMs / 2) ? 'claim' : 'wait'
  }
}
