/** The progress of scans and of verbs, on standard error. Silent without a terminal. */
import type { VerbResult } from '../../../src/admin/verbs/tally.js'
import { countText } from '../../../src/base/text.js'
import type { Surroundings } from './output.js'

const widthMax = 40
const updateMs = 100
/** A scan that is done by then shows none. */
const quietMs = 500

/** A bar. */
export class Progress {
  readonly #surroundings: Surroundings
  readonly #startedAt: number
  #shownAt: number
  #isShown = false

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings
    this.#startedAt = this.#shownAt = surroundings.nowMs()
  }

  show(done: number, all: number): void {
    const { complainsToTerminal, isTerminal, nowMs, complain } = this.#surroundings
    // Beside output on the same terminal a bar would only be in the way.
    if (!complainsToTerminal || isTerminal || all <= 0) return
    const now = nowMs()
    if (now - this.#startedAt < quietMs || now - this.#shownAt < updateMs) return
    this.#shownAt = now
    this.#isShown = true
    const share = Math.min(1, done / all)
    const full = Math.round(share * widthMax)
    complain(
      `\r[${'#'.repeat(full)}${'.'.repeat(widthMax - full)}] ${String(Math.floor(share * 100)).padStart(3)} %`,
    )
  }

  end(): void {
    if (this.#isShown) this.#surroundings.complain(`\r${' '.repeat(widthMax + 8)}\r`)
    this.#isShown = false
  }
}

const eraseLine = '\r\x1b[K'

/** Messages that a verb has met. */
export class RunningCount {
  readonly #surroundings: Surroundings
  readonly #done: string
  #shownAt = -Infinity
  messageCount = 0

  /** @param done the state of a message afterwards, `held` */
  constructor(surroundings: Surroundings, done: string) {
    this.#surroundings = surroundings
    this.#done = done
  }

  show({ messageCount }: VerbResult): void {
    this.messageCount = messageCount
    const { complainsToTerminal, complain, nowMs } = this.#surroundings
    const now = nowMs()
    if (!complainsToTerminal || now - this.#shownAt < updateMs) return
    this.#shownAt = now
    complain(`${eraseLine}${countText(messageCount, 'message')} ${this.#done} …`)
  }

  end(): void {
    if (this.#shownAt !== -Infinity) this.#surroundings.complain(eraseLine)
  }
}
