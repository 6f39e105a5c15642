/** The order in which recipients of a batch are looked at: Postfix's, which decides the first round
 * of a job's peers.
 * Invariant: both orders are total up to equal addresses, which keep the order in which
 * they were read. */
import type { Destination } from './destination.js'
import type { SchedulerRecipient } from './interface.js'

/** A recipient that was read, before it has an entry. */
export class Arrival {
  readonly recipient: SchedulerRecipient
  /** `@` and what follows, in lower case; '' without one, which comes last. */
  readonly domain: string
  destination: Destination | undefined = undefined

  constructor(recipient: SchedulerRecipient) {
    const { address } = recipient
    const at = address.lastIndexOf('@')
    this.recipient = recipient
    this.domain = at < 0 ? '' : address.slice(at).toLowerCase()
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Orders by domain, then by address. */
export function byAddress(a: Arrival, b: Arrival): number {
  if (a.domain !== b.domain) {
    if (a.domain === '') return 1
    if (b.domain === '') return -1
    return compare(a.domain, b.domain)
  }
  return compare(a.recipient.address, b.recipient.address)
}

/** Orders by transport, then by destination, then by address. Both arrivals have a destination. */
export function byDestination(a: Arrival, b: Arrival): number {
  const one = a.destination!
  const other = b.destination!
  if (one === other) return byAddress(a, b)
  return compare(one.transport.name, other.transport.name) || compare(one.name, other.name)
}

/** Sorts in place. Batches mostly come in order, and looking costs less than sorting. */
export function sortArrivals(arrivals: Arrival[], order: (a: Arrival, b: Arrival) => number): void {
  for (let i = 1; i < arrivals.length; i++)
    if (order(arrivals[i - 1]!, arrivals[i]!) > 0) {
      arrivals.sort(order)
      return
    }
}
