/** How many submissions settle in one turn of the event loop, so that mail comes in no faster than
 * it goes where both take the same processor; Postfix's in_flow_delay does it with a pause. Else:
 *    1. A hundred submitters hear in one turn that their mail is durable, and submit the next.
 *    2. In the same turn a hundred attempts are answered, the share of one submission in ten.
 *    3. Thousands of messages come to wait in memory, where the processor's caches do not reach:
 *       each attempt takes twice as long.
 * Counts are of recipients, because they are what is delivered: a submission takes from what may
 * settle as many as it has. Deliveries that wait for others leave turns to spare, and slow nobody
 * down. Pure. */

/** Recipients of submissions that settle and attempts that are answered in one turn, together. */
const perTurn = 100
/** Of so many that are answered in a turn, on average, they leave nothing to spare. */
const fullTurn = 75
/** Turns of the average. */
const averageTurns = 16
/** So many waiting recipients slow nobody down: there is always something to deliver. */
const freeCount = 300
/** What settles in place of those that have gone: a little less, so that what waits grows less. */
const replacedPart = 15 / 16

/** What a submission has beyond it keeps nobody waiting: a large mailing delays others by a
 * dozen turns. */
const debtMax = 10 * perTurn

/** What a life has done until now. */
export interface Progress {
  /** Attempts that were answered. */
  readonly answeredCount: number
  /** Their recipients. */
  readonly goneCount: number
  /** Recipients in the scheduler. */
  readonly waitingCount: number
  /** Recipients of submissions that have settled. */
  readonly settledCount: number
}

export class Inflow {
  #before: Progress = { answeredCount: 0, goneCount: 0, waitingCount: 0, settledCount: 0 }
  #answeredAverage = 0
  /** Recipients that have gone and were not replaced; a debt when a submission had more. */
  #vacant = 0

  /** @returns recipients whose submissions may settle now, the last one with all it has; 0: wait
   * for another turn */
  next(progress: Progress): number {
    const { answeredCount, goneCount, waitingCount, settledCount } = progress
    const before = this.#before
    this.#before = progress
    this.#answeredAverage += (answeredCount - before.answeredCount - this.#answeredAverage) / averageTurns
    const gone = goneCount - before.goneCount
    const vacant = this.#vacant + gone * replacedPart - (settledCount - before.settledCount)
    this.#vacant = Math.max(-debtMax, Math.min(vacant, Math.max(perTurn, gone)))
    const spare = perTurn * (1 - this.#answeredAverage / fullTurn)
    const free = Math.min(perTurn, freeCount - waitingCount)
    return Math.max(0, Math.floor(Math.max(this.#vacant, spare, free)))
  }
}
