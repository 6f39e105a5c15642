/** Attempts that an operator's verb ends: their message is deleted, expired, held or rerouted; and
 * those that the end of the life cuts off.
 * Invariant: the signal of such an attempt aborts, also of one that begins after the verb because
 * it waited for the journal. The attempt still settles, and what it delivered meanwhile is
 * recorded.
 * Why: a site that hangs kept `delete` waiting for the attempt's deadline, 30 minutes. */
import type { ActiveMessage } from '../../active/active-message.js'
import type { Attempts } from '../../delivery/attempt.js'
import type { Entry } from '../../scheduler/scheduler.js'
import type { Job } from './job.js'

export class StoppedAttempts {
  readonly #attempts: ReadonlyMap<string, Attempts<Entry<Job>>>
  /** Messages that a verb ends, until the scheduler has done with them. */
  readonly #messages = new Set<ActiveMessage>()
  /** Those of them with attempts whose signal has not aborted yet. */
  readonly #untold = new Set<ActiveMessage>()

  constructor(attempts: ReadonlyMap<string, Attempts<Entry<Job>>>) {
    this.#attempts = attempts
  }

  add(message: ActiveMessage): void {
    this.#messages.add(message)
    this.#untold.add(message)
  }

  /** An attempt on the message begins. @returns whether its signal has to abort, by `tell` */
  begins(message: ActiveMessage): boolean {
    if (this.#messages.size === 0 || !this.#messages.has(message)) return false
    this.#untold.add(message)
    return true
  }

  /** Aborts the signals, for many messages in one pass over the attempts under way: a verb may end
   * thousands. */
  tell(): void {
    if (this.#untold.size === 0) return
    for (const attempts of this.#attempts.values())
      attempts.withdraw(({ message: { message } }) => this.#untold.has(message))
    this.#untold.clear()
  }

  /** The end of the life, of every attempt.
   * @returns which transports did not close, as sentences */
  abandonAll(): string[] {
    const defects: string[] = []
    for (const [name, attempts] of this.#attempts) {
      try {
        attempts.abandon()
      } catch (error) {
        // A transport that cannot be closed must not keep the queue's own descriptors and lock.
        defects.push(`transport ${name} did not close: ${String(error)}`)
      }
    }
    return defects
  }

  done(message: ActiveMessage): void {
    this.#messages.delete(message)
    this.#untold.delete(message)
  }
}
