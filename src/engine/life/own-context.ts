/** The asynchronous context (AsyncLocalStorage) of one life: that of the call of `openQueue`.
 * Invariant: timers, listeners, transports, and what attempts ask (route, policy) run in it. Only
 * what a verb or a listing asks runs in the context of its caller.
 * Why: one sync makes the mail of many durable, and one run delivers it.
 *   1. a request submits within a database transaction that its context carries
 *   2. mail of another request is delivered behind the same sync; a listener notes that
 *   3. the note is part of the first transaction, which is rolled back: it is lost */
import { AsyncResource } from 'node:async_hooks'

export class OwnContext {
  readonly #resource = new AsyncResource('WaybillQueue')

  /** @returns what the step answers @throws what it throws */
  run<T>(step: () => T): T {
    return this.#resource.runInAsyncScope(step)
  }
}
