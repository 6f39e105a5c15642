/** Decides how many submissions settle in one turn of the event loop, so that mail comes in no
 * faster than it leaves. They are counted by their recipients; Postfix's in_flow_delay is a pause
 * instead. Without it:
 *    1. A hundred submitters hear in one turn that their mail is durable, and submit the next.
 *    2. In the same turn a hundred attempts are answered, the share of one submission in ten.
 *    3. Thousands of messages come to wait in memory, where the processor's caches do not reach:
 *       each attempt takes twice as long.
 * Deliveries that wait for others leave turns to spare, and slow nobody down. Pure. */

/** Settle in a turn in which nothing is answered, or little waits. */
const perTurn = 100
/** Of so many attempts that are answered in a turn, on average, they leave nothing to spare. */
const fullTurn = 75
/** Turns of the average, in which no turn counts for more than twice `perTurn`. */
const averageTurns = 16
/** So many waiting recipients slow nobody down: there is always something to deliver. */
const freeCount = 300
/** What settles in place of those that have ended: a little less, so that what waits grows less. */
const replacedPart = 15 / 16
/** Settle beside them in each turn, also where nothing ends: a mailing with very many recipients is
 * under way, which are read as others have gone. With what is replaced it is less than ends. */
const leastPerTurn = 4
/** The most that is made up for, or that a large submission keeps others waiting for. */
const creditMax = 10 * perTurn

/** What a life has done until now. */
export interface Progress {
  /** Attempts that were answered. */
  readonly answeredCount: number
  /** Recipients of messages that have ended. */
  readonly endedCount: number
  /** Recipients in the scheduler. */
  readonly waitingCount: number
  /** Recipients of submissions that have settled. */
  readonly settledCount: number
}

export class SettlingPace {
  #before: Progress = { answeredCount: 0, endedCount: 0, waitingCount: 0, settledCount: 0 }
  #answeredAverage = 0
  /** Recipients that have ended and were not replaced; below 0 when a submission had more. */
  #credit = 0
  /** The least that it becomes: what settled of what was spare or free is no debt. */
  #creditMin = 0

  /** Called after each sync, and in each turn in which submissions wait: what happened between two
   * calls counts as one turn.
   * @returns recipients whose submissions may settle now, the last one with all it has; 0: wait
   * for another turn */
  next(progress: Progress): number {
    const { answeredCount, endedCount, waitingCount, settledCount } = progress
    const before = this.#before
    this.#before = progress
    const answered = Math.min(answeredCount - before.answeredCount, 2 * perTurn)
    this.#answeredAverage += (answered - this.#answeredAverage) / averageTurns
    const replaced = (endedCount - before.endedCount) * replacedPart + leastPerTurn
    const credit = this.#credit + replaced - (settledCount - before.settledCount)
    this.#credit = Math.max(this.#creditMin, Math.min(credit, creditMax))
    const spare = perTurn * (1 - this.#answeredAverage / fullTurn)
    const free = Math.min(perTurn, freeCount - waitingCount)
    const count = Math.max(0, spare, free)
    this.#creditMin = this.#credit > count ? -creditMax : Math.min(0, this.#credit)
    return Math.floor(Math.max(this.#credit, count))
  }
}
