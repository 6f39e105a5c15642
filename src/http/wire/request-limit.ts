/** A bound on the requests of one kind that are worked on at once.
 * Invariant: a request beyond it is refused with TOO_MANY_REQUESTS, and none waits. */
import { ProblemError } from './problem-details.js'

export class RequestLimit {
  readonly #countMax: number
  readonly #underWay: string
  #count = 0

  /** @param underWay how such work is called, for clients: `pages are being made` */
  constructor(countMax: number, underWay: string) {
    this.#countMax = countMax
    this.#underWay = underWay
  }

  /** @throws ProblemError TOO_MANY_REQUESTS; what `work` throws */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#count >= this.#countMax)
      throw new ProblemError('TOO_MANY_REQUESTS', `${this.#countMax} ${this.#underWay} already`)
    this.#count++
    try {
      return await work()
    } finally {
      this.#count--
    }
  }
}
