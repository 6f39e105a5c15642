/** Freed objects for reuse.
 * Why: messages, jobs and peers live as long as a message waits, so garbage collection would copy
 * each of them twice; that took more than half of the time (bench/scheduler.ts).
 * Invariant: an object in the list is referred to by nothing else that is still read,
 * and is as new. */

export class FreeList<T> {
  readonly #free: T[] = []
  readonly #countMax: number

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  take(): T | undefined {
    return this.#free.pop()
  }

  /** Beyond the bound the object is left to garbage collection. */
  give(object: T): void {
    if (this.#free.length < this.#countMax) this.#free.push(object)
  }
}
