/** The turns of one message: when its deliveries may begin under the limits on sending. Each keeps
 * its turn while another of the same message begins.
 * Why: all of them asked again at the first turn. Those that had to go on waiting got another each
 * time, later than the one they gave up, and at that one nothing began. */

/** Deliveries of a message that have turns, at the most: memory does not grow with its nexthops. */
export const turnsMax = 16

export interface Turn {
  /** By the monotonic clock. */
  readonly untilMs: number
  readonly transport: string
  readonly nexthop: string
}

export class LimitTurns {
  /** Given since the message was attempted. Of a site several, where its recipients are too many
   * for one delivery. */
  #given = new Map<string, number[]>()
  /** Given before, and not asked for since. */
  #had: ReadonlyMap<string, number[]> = new Map()
  #first: Turn | undefined
  /** Turns in `#given`, and together with those in `#had`. */
  #givenCount = 0
  #count = 0
  /** The message is attempted for a turn that was not asked for yet. */
  #isForTurn = false
  #isOutdated = false

  /** The first turn of those that wait. */
  get first(): Turn | undefined {
    return this.#first
  }

  /** Limits are others than those that gave the turns: each delivery asks anew. */
  outdate(): void {
    this.#isOutdated = true
    this.#isForTurn = false
  }

  /** Limits may have ended for which the message waits. */
  get isOutdated(): boolean {
    return this.#isOutdated
  }

  /** The message is attempted again. */
  begin(nowMs: number): void {
    this.#isForTurn = !this.#isOutdated && this.#first !== undefined && this.#first.untilMs <= nowMs
    this.#isOutdated = false
    this.#had = this.#given
    this.#given = new Map()
    this.#first = undefined
    this.#count = this.#givenCount
    this.#givenCount = 0
  }

  /** @returns the turn of the site's next delivery, if it has one */
  take(site: string, nowMs: number): number | undefined {
    const turn = this.#had.get(site)?.shift()
    if (turn === undefined) return undefined
    this.#count--
    if (turn <= nowMs) this.#isForTurn = false
    return turn
  }

  /** Is the message attempted for the turn of another of its deliveries, which has yet to ask? */
  get isForOther(): boolean {
    return this.#isForTurn
  }

  /** Others of its deliveries have so many that one without a turn gets none. */
  get isFull(): boolean {
    return this.#first !== undefined && this.#count >= turnsMax
  }

  give(site: string, turn: Turn): void {
    this.#count++
    this.#givenCount++
    const known = this.#given.get(site)
    if (known === undefined) this.#given.set(site, [turn.untilMs])
    else known.push(turn.untilMs)
    this.lookAt(turn)
  }

  /** The message is attempted then, though the delivery has no turn. */
  lookAt(turn: Turn): void {
    if (this.#first === undefined || turn.untilMs < this.#first.untilMs) this.#first = turn
  }
}
