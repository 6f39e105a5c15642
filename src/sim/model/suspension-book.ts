/** The suspensions that operators were answered, in the model.
 * Invariant: between a request and its answer, and behind a crash of that time, nothing is known of
 * its destination. What was answered holds in all later lives. */
import type { Violate } from './violation.js'

export class SuspensionBook {
  /** By nexthop; undefined: not known. */
  readonly #isSuspended = new Map<string, boolean | undefined>()

  copy(): SuspensionBook {
    const copy = new SuspensionBook()
    for (const [nexthop, isSuspended] of this.#isSuspended) copy.#isSuspended.set(nexthop, isSuspended)
    return copy
  }

  get known(): unknown {
    return [...this.#isSuspended]
  }

  /** Those that are suspended, or may be. */
  get possible(): string[] {
    return [...this.#isSuspended].flatMap(([nexthop, is]) => (is === false ? [] : nexthop))
  }

  asked(nexthop: string): void {
    this.#isSuspended.set(nexthop, undefined)
  }

  answered(nexthop: string, isSuspended: boolean): void {
    this.#isSuspended.set(nexthop, isSuspended)
  }

  /** An attempt begins. */
  judgeAttempt(name: string, nexthop: string, violate: Violate): void {
    if (this.#isSuspended.get(nexthop) === true)
      violate('O6', `${name} is attempted at ${nexthop}, which is suspended`)
  }

  /** What a life begins with. */
  judgeBeginning(nexthops: readonly string[], violate: Violate): void {
    for (const [nexthop, is] of this.#isSuspended)
      if (is !== undefined && is !== nexthops.includes(nexthop))
        violate('O6', `${nexthop} was ${is ? 'suspended' : 'resumed'} durably, and is not so in a later life`)
  }
}
