/** The orders of a life, for one message or many, and their answers.
 * Invariant: an order for many is one for each message that it may be carried out on: all that are
 * in the queue at the call, and those that come until it is answered. Which of the later ones it
 * was carried out on is unknown. */
import type { ModelMessage } from './model-message.js'
import { dropOrder, obey, order } from './model-orders.js'
import type { Violate } from './violation.js'
import { domainOf } from '../../base/mail-address.js'
import type { VerbName } from '../workload/workload.js'

/** The answer to an order. */
export interface Told {
  /** Messages that it was carried out on; of an order that was aborted, at least so many. */
  readonly messageCount: number
  /** It was carried out on every message that was meant at the call and had not ended. */
  readonly isWhole: boolean
  /** It was aborted: messages that were being attempted may have it carried out on them when their
   * attempts have ended. */
  readonly isAborted: boolean
}

interface OrderForMany {
  readonly verb: VerbName
  /** Undefined: all are meant. */
  readonly domain: string | undefined
  /** By name: those that it may be carried out on, and those that must be meant. */
  readonly maybe: Set<string>
  readonly surely: ReadonlySet<string>
}

export class OrderBook {
  readonly #messages: ReadonlyMap<string, ModelMessage>
  readonly #onOrder: (name: string, verb: VerbName) => void
  readonly #violate: Violate
  readonly #many = new Set<OrderForMany>()

  /** @param onOrder called with each message of an order */
  constructor(
    messages: ReadonlyMap<string, ModelMessage>,
    onOrder: (name: string, verb: VerbName) => void,
    violate: Violate,
  ) {
    this.#messages = messages
    this.#onOrder = onOrder
    this.#violate = violate
  }

  /** A life has ended, and its orders with it. */
  forget(): void {
    this.#many.clear()
    for (const { orders } of this.#messages.values()) orders.length = 0
  }

  /** An operator's verb is called for a message: from now on it may have been carried out.
   * @returns a function to call with its answer, whose effects are durable */
  given(name: string, verb: VerbName, wallMs: number): (told: Told) => void {
    this.#give(this.#messages.get(name), verb, wallMs)
    return ({ messageCount, isAborted }) => {
      const message = this.#messages.get(name)
      if (messageCount > (message === undefined ? 0 : 1))
        this.#violate('O5', `${verb} of ${name} was carried out on ${messageCount} messages`)
      if (message === undefined) return
      if (messageCount > 0) this.#obeyed(message, verb)
      else if (!isAborted) dropOrder(message, verb)
    }
  }

  /** @param domain of which messages have a recipient; undefined: all. @returns like `given` */
  givenForMany(verb: VerbName, domain: string | undefined, wallMs: number): (told: Told) => void {
    const meant = [...this.#messages.values()].filter((message) => mayBeMeant(message, domain))
    const many: OrderForMany = {
      verb,
      domain,
      maybe: new Set(meant.map(({ name }) => name)),
      surely: new Set(meant.filter((message) => isMeant(message, domain)).map(({ name }) => name)),
    }
    this.#many.add(many)
    for (const message of meant) this.#give(message, verb, wallMs)
    return (told) => this.#answered(many, told)
  }

  /** A message came: orders that are being carried out may mean it. */
  came(message: ModelMessage): void {
    for (const { verb, domain, maybe } of this.#many) {
      if (!mayBeMeant(message, domain)) continue
      maybe.add(message.name)
      this.#give(message, verb, message.askedAtMs)
    }
  }

  #give(message: ModelMessage | undefined, verb: VerbName, wallMs: number): void {
    if (message === undefined) return
    order(message, verb, wallMs)
    this.#onOrder(message.name, verb)
  }

  #answered(many: OrderForMany, { messageCount, isWhole, isAborted }: Told): void {
    const { verb, maybe, surely } = many
    this.#many.delete(many)
    let endedCount = 0
    for (const name of maybe) {
      const message = this.#messages.get(name)!
      // The end of a message whose submitter has no id is reported by id alone.
      if (message.finished || message.id === undefined) endedCount++
      if (isWhole && surely.has(name) && !message.finished) this.#obeyed(message, verb)
      else if (!isAborted) dropOrder(message, verb)
    }
    const mostCount = ends(verb) ? endedCount : maybe.size
    if (messageCount > mostCount)
      this.#violate('O5', `${verb} says that it was carried out on ${messageCount} messages of ${mostCount}`)
  }

  #obeyed(message: ModelMessage, verb: VerbName): void {
    if (ends(verb)) {
      // The end of a message whose submitter has no id is reported by id alone.
      if (message.id === undefined) message.finished = true
      if (!message.finished)
        this.#violate('O5', `${verb} of ${message.name} has settled, and it has not ended`)
      message.finishedDurably = true
    }
    obey(message, verb)
  }
}

const ends = (verb: VerbName): boolean => verb === 'delete' || verb === 'expire'

const mayBeMeant = (
  { state, recipients, finishedDurably }: ModelMessage,
  domain: string | undefined,
): boolean => {
  if (finishedDurably || state === 'refused' || state === 'gone') return false
  return domain === undefined || [...recipients.keys()].some((address) => domainOf(address) === domain)
}

/** It is there and cannot be rerouted: only waiting recipients have routes, and a message whose
 * report is still to be written may have none. */
const isMeant = (
  { state, finished, recipients, mayBeRerouted }: ModelMessage,
  domain: string | undefined,
): boolean => {
  if (state !== 'settled' || finished) return false
  if (domain === undefined) return true
  const all = [...recipients.values()]
  const isWaiting = all.some(({ final }) => final === undefined)
  return !mayBeRerouted && isWaiting && all.every(({ address }) => domainOf(address) === domain)
}
