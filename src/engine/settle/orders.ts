/** Orders of operators for active messages, until each is carried out.
 * Invariant: a message has one order at a time, and each comes to an answer: carried out, or
 * overtaken because the message ended otherwise. Orders are in memory only: nobody was told that
 * they are done, so a crash may forget them. */
import type { ActiveMessage } from '../../active/active-message.js'
import type { EnvelopeChanges } from './replacement.js'

/** What becomes of a message that no attempt is under way for. */
export type Order =
  | { readonly kind: 'delete' }
  /** `byTime`: attempts under way go on. */
  | { readonly kind: 'expire'; readonly byTime?: true }
  | { readonly kind: 'move'; readonly lane: 'incoming' | 'hold'; readonly changes: EnvelopeChanges }

/** Does nobody want the attempts under way any more? A flush or a requeue wants a delivery,
 * so they go on. */
export const stopsAttempts = (order: Order): boolean =>
  order.kind === 'move'
    ? order.lane === 'hold' || order.changes.route !== undefined
    : order.kind === 'delete' || order.byTime !== true

interface Placed {
  readonly order: Order
  readonly answer: Promise<boolean>
  readonly resolve: (isCarriedOut: boolean) => void
  readonly reject: (error: unknown) => void
}

export class Orders {
  readonly #placed = new Map<ActiveMessage, Placed>()

  /** The order for a message that has none. @returns whether it was carried out, in the end */
  place(message: ActiveMessage, order: Order): Promise<boolean> {
    let placed: Omit<Placed, 'answer'> | undefined
    const answer = new Promise<boolean>((resolve, reject) => {
      placed = { order, resolve, reject }
    })
    this.#placed.set(message, { ...placed!, answer })
    return answer
  }

  of(message: ActiveMessage): Order | undefined {
    return this.#placed.size === 0 ? undefined : this.#placed.get(message)?.order
  }

  /** When the order that it has is answered. */
  answerOf(message: ActiveMessage): Promise<boolean> | undefined {
    return this.#placed.get(message)?.answer
  }

  /** The message has ended. */
  ended(message: ActiveMessage, isCarriedOut: boolean): void {
    if (this.#placed.size === 0) return
    const placed = this.#placed.get(message)
    this.#placed.delete(message)
    placed?.resolve(isCarriedOut)
  }

  /** It cannot be carried out. */
  failed(message: ActiveMessage, error: unknown): void {
    const placed = this.#placed.get(message)
    this.#placed.delete(message)
    placed?.reject(error)
  }

  /** The end of this life. */
  fail(error: unknown): void {
    for (const message of this.#placed.keys()) this.failed(message, error)
  }
}
