/** What is known of a life before it begins, and decides what is promised in it.
 * Invariant: what is not known is promised to nobody. */
export interface LifeFacts {
  /** Mail is attempted. */
  readonly delivers: boolean
  /** The longest that mail waits for its next attempt, by the monotonic clock; Infinity: nobody knows. */
  readonly waitMsMax: number
  /** Calls take effect in order, and time stands still while any is under way. */
  readonly isInOrder: boolean
  /** What is appended may wait for room. */
  readonly isShortOfRoom: boolean
  /** No attempt begins while a synced write has been under way for longer, milliseconds. */
  readonly proofMs: number
}

/** Of which nothing is known. */
export const anyLife: LifeFacts = {
  delivers: true,
  waitMsMax: Infinity,
  isInOrder: false,
  isShortOfRoom: false,
  proofMs: Infinity,
}
