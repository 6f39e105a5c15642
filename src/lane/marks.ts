/** Envelopes that were started out of order and that the runner has not reached.
 * Invariant: a mark is in a `marks` record of the checkpoint that vouches for its start's effect, or its start is in the working
 * suffix; so no crash lets the runner start an envelope twice. 8 bytes each, dropped when the runner passes. */
import { nowhere, type Position } from '../base/position.js'

export class Marks {
  readonly #marked = new Set<Position>()
  #fresh: Position[] = []
  /** The lane's newest `marks` record. */
  lastRecord: Position

  constructor(lastRecord: Position = nowhere) {
    this.lastRecord = lastRecord
  }

  /** Marked now; the next checkpoint appends it. */
  add(envelope: Position): void {
    this.#marked.add(envelope)
    this.#fresh.push(envelope)
  }

  /** Marked by a record that the checkpoint names. */
  restore(envelope: Position): void {
    this.#marked.add(envelope)
  }

  has(envelope: Position): boolean {
    return this.#marked.has(envelope)
  }

  /** The runner has passed it. */
  drop(envelope: Position): void {
    this.#marked.delete(envelope)
  }

  get count(): number {
    return this.#marked.size
  }

  /** Marks in no record yet. */
  get freshCount(): number {
    return this.#fresh.length
  }

  /** At most `countMax` of them, to be appended now. */
  takeFresh(countMax: number): readonly Position[] {
    return this.#fresh.splice(0, countMax)
  }
}
