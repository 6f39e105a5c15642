/** A read-only connection, for a process that is not the owner.
 * Invariant: nothing is locked and nothing changed; a connection that fails is replaced. */
import { pause, type Clock } from '../base/clock.js'
import type { Answer, QueueRow, Session, Store } from './store.js'
import { unknown } from './store.js'
import { WaybillError } from '../errors.js'

const againMs = 100
/** Somebody waits for an answer: less patience than an owner has. */
const patienceMsMax = 10_000

export class ReadConnection {
  readonly #store: Store
  readonly #name: string
  readonly #clock: Clock
  readonly #patienceMs: number
  #session: Promise<Answer<Session>> | undefined
  #row: QueueRow | undefined
  #isClosed = false

  constructor(store: Store, name: string, clock: Clock, patienceMs: number) {
    this.#store = store
    this.#name = name
    this.#clock = clock
    this.#patienceMs = Math.min(patienceMs, patienceMsMax)
  }

  /** @throws WaybillError STORE_UNREACHABLE, and what the store refuses with */
  async queue(): Promise<QueueRow | undefined> {
    if (this.#row !== undefined) return this.#row
    const answer = await this.ask((session) => session.queueNamed(this.#name))
    if (answer.kind === 'done') return (this.#row = answer.value)
    if (answer.kind === 'unknown') throw answer.error
    throw answer.refusal.kind === 'failed' ? answer.refusal.error : this.#unreachable()
  }

  async ask<T>(question: (session: Session) => Promise<Answer<T>>): Promise<Answer<T>> {
    const startedMs = this.#clock.monotonicMs()
    for (;;) {
      const session = await (this.#session ??= this.#store.connect(undefined))
      const answer = session.kind === 'done' ? await question(session.value) : session
      if (answer.kind !== 'unknown') return answer
      if (session.kind === 'done') session.value.close()
      this.#session = undefined
      if (!this.#isClosed) await pause(this.#clock, againMs, undefined)
      // `close` may come meanwhile, and closes no connection that is made behind it.
      if (this.#isClosed || this.#clock.monotonicMs() - startedMs >= this.#patienceMs)
        return unknown(this.#unreachable(answer.error))
    }
  }

  close(): void {
    this.#isClosed = true
    void this.#session?.then((session) => {
      if (session.kind === 'done') session.value.close()
    })
  }

  #unreachable(cause?: WaybillError): WaybillError {
    const reason = cause?.message ?? 'the store does not answer'
    return new WaybillError('STORE_UNREACHABLE', reason, { directory: this.#store.name }, cause)
  }
}
