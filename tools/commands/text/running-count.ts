/** The progress of a verb, on a terminal. Silent if standard error is none. */
import type { VerbResult } from '../../../src/admin/verbs/tally.js'
import { countText } from '../../../src/base/count-text.js'
import type { Surroundings } from './output.js'

const updateMs = 100
const eraseLine = '\r\x1b[K'

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
