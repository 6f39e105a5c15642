/** The promises of the nodes of one queue, and the check that they are kept.
 * Invariants, by the numbers of the crash hunt's promises: O1 what was accepted is delivered;
 * O2 no two changes at one place; O8 a life ends only with a reason; O9 no change of an old
 * epoch stands behind a claim; O10 no attempt begins in a life when another one has owned the
 * queue for longer than `proofMs`; O11 a store that answers has an owner for each queue, and no
 * node takes a queue without a reason; O13 a failover of the database alone delivers nothing
 * twice. */
import type { Oracle } from '../model/violation.js'

export interface Broken {
  readonly oracle: Oracle
  readonly text: string
}

export class ClusterModel {
  readonly #proofMs: number
  readonly #nowMs: () => number
  readonly #accepted = new Set<string>()
  readonly #delivered = new Map<string, number>()
  readonly #owners: { readonly nonce: string; readonly atMs: number }[] = []
  broken: Broken | undefined
  /** Why a queue may have changed hands: deaths, pauses, cuts, and what else takes an owner
   * away. */
  troubleCount = 0
  openedCount = 0
  resumedCount = 0

  constructor(proofMs: number, nowMs: () => number) {
    this.#proofMs = proofMs
    this.#nowMs = nowMs
  }

  readonly violate = (oracle: Oracle, text: string): void => {
    this.broken ??= { oracle, text: `${text}, at ${Math.round(this.#nowMs())} ms` }
  }

  /** A claim or a resume of this life is durable. */
  owns(nonce: string): void {
    if (this.#owners.at(-1)?.nonce !== nonce) this.#owners.push({ nonce, atMs: this.#nowMs() })
  }

  accepted(token: string): void {
    this.#accepted.add(token)
  }

  attempted(token: string, nonce: string): void {
    const next = this.#owners[this.#owners.findLastIndex((owner) => owner.nonce === nonce) + 1]
    if (next === undefined) return
    const lateMs = this.#nowMs() - next.atMs
    if (lateMs > this.#proofMs)
      this.violate(
        'O10',
        `an attempt at ${token} began ${Math.round(lateMs)} ms after another life had the queue`,
      )
  }

  delivered(token: string): void {
    this.#delivered.set(token, (this.#delivered.get(token) ?? 0) + 1)
  }

  get acceptedCount(): number {
    return this.#accepted.size
  }

  get waitingCount(): number {
    return [...this.#accepted].filter((token) => !this.#delivered.has(token)).length
  }

  get doubledCount(): number {
    return [...this.#delivered.values()].filter((count) => count > 1).length
  }

  get takeoverCount(): number {
    return Math.max(0, this.#owners.length - 1)
  }

  /** When all is quiet. @param isStoreOnly nothing but the database has failed */
  judge(isStoreOnly: boolean): void {
    if (this.waitingCount > 0) this.violate('O1', `${this.waitingCount} accepted messages were not delivered`)
    if (isStoreOnly && this.doubledCount > 0)
      this.violate('O13', `${this.doubledCount} messages were delivered twice`)
    if (isStoreOnly && this.takeoverCount > 0)
      this.violate('O8', `a life ended, though only the database failed`)
    // Each trouble may take a queue away, and its home node takes it back.
    if (this.takeoverCount > 2 * this.troubleCount)
      this.violate('O11', `${this.takeoverCount} takeovers for ${this.troubleCount} troubles`)
  }
}
