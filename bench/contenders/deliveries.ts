/** The deliveries of a store: each durable message is delivered before it ends.
 * Invariant: a message ends once; without a delivery, at once. */
export class Deliveries {
  readonly #deliver: (() => Promise<void>) | undefined
  #underWayCount = 0

  /** @param deliver by default nothing is done */
  constructor(deliver: (() => Promise<void>) | undefined) {
    this.#deliver = deliver
  }

  get isIdle(): boolean {
    return this.#underWayCount === 0
  }

  /** @param ended the message has ended: called at once, or behind its delivery */
  begin(ended: () => void): void {
    if (this.#deliver === undefined) ended()
    else void this.#run(this.#deliver, ended)
  }

  async #run(deliver: () => Promise<void>, ended: () => void): Promise<void> {
    this.#underWayCount++
    await deliver()
    this.#underWayCount--
    ended()
  }
}
