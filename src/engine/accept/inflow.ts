/** How many submissions settle in one turn of the event loop, so that mail comes in no faster than
 * it goes where both take the same processor; Postfix's in_flow_delay does it with a pause. Else:
 *    1. A thousand submitters hear in one turn that their mail is durable, and submit the next.
 *    2. In the same turn a hundred attempts are answered: a transport has no more under way.
 *    3. What waits grows until memory holds no more. From then on new mail is read back from the
 *       log, and has cost twice as much when it is delivered.
 * Deliveries that wait for others leave turns to spare, and slow nobody down. Pure. */

/** Submissions that settle and attempts that are answered in one turn, together. */
const perTurn = 100
/** What a life has done until now. */
export interface Progress {
  /** Attempts that were answered. */
  readonly answeredCount: number
  /** Messages that have ended. */
  readonly endedCount: number
  /** Active messages, without those that wait for their time. */
  readonly activeCount: number
}

export class Inflow {
  readonly #freeCount: number
  #answeredBefore = 0
  #endedBefore = 0

  /** @param freeCount so many active messages slow nobody down */
  constructor(freeCount: number) {
    this.#freeCount = freeCount
  }

  /** @returns how many may settle now, at least 1: in place of those that have ended since the last
   * call, and as many as the attempts answered since then leave over */
  next({ answeredCount, endedCount, activeCount }: Progress): number {
    const answered = answeredCount - this.#answeredBefore
    const ended = endedCount - this.#endedBefore
    this.#answeredBefore = answeredCount
    this.#endedBefore = endedCount
    return activeCount <= this.#freeCount ? perTurn : Math.max(1, ended, perTurn - answered)
  }
}
