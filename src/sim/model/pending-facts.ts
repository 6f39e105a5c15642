/** Facts that the engine reported in this life and that a crash may still take back, in order.
 * Invariant: a fact becomes durable only when every byte that the engine had appended by the
 * moment of the fact was written by a synced write that returned (the engine's public statistics
 * say so). */
import type { ModelMessage } from './model-message.js'

export interface Fact {
  readonly kind: 'delivered' | 'failed' | 'deferred' | 'finished' | 'reported'
  /** Bytes that the engine had appended by then, in this life. */
  readonly appendedBytes: number
  /** The message's, in the model. */
  readonly name: string
  readonly recipients: readonly string[]
  /** Of a deferral: the steady time of the next attempt, and the attempts until then. */
  readonly notBeforeMs: number
  readonly attempts: number
}

/** Of the message as a whole. */
export const factOf = (kind: 'finished' | 'reported', appendedBytes: number, name: string): Fact => ({
  kind,
  appendedBytes,
  name,
  recipients: [],
  notBeforeMs: 0,
  attempts: 0,
})

export class PendingFacts implements Iterable<Fact> {
  #facts: Fact[] = []

  copy(): PendingFacts {
    const copy = new PendingFacts()
    copy.#facts = this.#facts.slice()
    return copy
  }

  get isEmpty(): boolean {
    return this.#facts.length === 0
  }

  push(fact: Fact): void {
    this.#facts.push(fact)
  }

  /** The life is over. */
  forget(): void {
    this.#facts = []
  }

  /** The message was made due at once: deferrals that become durable later are of before. */
  withoutWait(name: string): void {
    this.#facts = this.#facts.map((fact) =>
      fact.name === name ? { ...fact, notBeforeMs: 0, attempts: 0 } : fact,
    )
  }

  /** Removes and returns the facts that are durable with so many bytes of this life. */
  takeDurable(writtenBytes: number): readonly Fact[] {
    const first = this.#facts.findIndex(({ appendedBytes }) => appendedBytes > writtenBytes)
    return this.#facts.splice(0, first < 0 ? this.#facts.length : first)
  }

  [Symbol.iterator](): Iterator<Fact> {
    return this.#facts.values()
  }
}

/** The fact is durable: no crash takes it back. */
export function believe(message: ModelMessage, { kind, recipients, notBeforeMs, attempts }: Fact): void {
  if (kind === 'finished') message.finishedDurably = true
  if (kind === 'reported') message.state = 'settled'
  for (const address of recipients) {
    const recipient = message.recipients.get(address)
    if (recipient === undefined) continue
    if (kind === 'deferred') {
      recipient.notBeforeMs = Math.max(recipient.notBeforeMs, notBeforeMs)
      recipient.attemptsMin = Math.max(recipient.attemptsMin, attempts)
    } else recipient.durable = true
  }
}
