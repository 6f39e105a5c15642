/** Ends active messages at the time at which they expire: the scheduler may have them for long.
 * Those that wait in lanes are started at that time (settle/settle.ts). */
import type { ActiveMessage } from '../../active/active-message.js'
import { EarliestTimer } from '../../base/clock.js'
import type { Parts } from '../life/parts.js'

/** It looks no more often than this, because it looks at all that are active; and no less while one
 * of them expires, because the wall clock may be set. */
const lookMsMin = 250
const lookMsMax = 10_000

export class Expiry {
  readonly #parts: Pick<Parts, 'options' | 'active'>
  readonly #onOver: (message: ActiveMessage) => void
  readonly #timer: EarliestTimer

  constructor(parts: Pick<Parts, 'options' | 'active'>, onOver: (message: ActiveMessage) => void) {
    this.#parts = parts
    this.#onOver = onOver
    this.#timer = new EarliestTimer(parts.options.clock, () => this.#look())
  }

  /** It is being attempted. */
  watch(message: ActiveMessage): void {
    const { expiresAt = 0 } = message.envelope.terms ?? {}
    if (expiresAt === 0) return
    message.watchedUntil = expiresAt
    this.#lookAt(expiresAt)
  }

  #lookAt(expiresAt: number): void {
    const { clock } = this.#parts.options
    const nowMs = clock.wallMs()
    const waitMs = Math.min(Math.max(expiresAt - nowMs, lookMsMin), lookMsMax)
    this.#timer.at(nowMs + waitMs, nowMs)
  }

  #look(): void {
    const { options, active } = this.#parts
    const nowMs = options.clock.wallMs()
    let next = Infinity
    const over: ActiveMessage[] = []
    for (const message of active.messages()) {
      const { watchedUntil } = message
      if (watchedUntil > nowMs) next = Math.min(next, watchedUntil)
      else if (watchedUntil > 0) over.push(message)
    }
    // Behind the look: what ends one may end others.
    for (const message of over) {
      message.watchedUntil = 0
      if (active.has(message)) this.#onOver(message)
    }
    if (next < Infinity) this.#lookAt(next)
  }
}
