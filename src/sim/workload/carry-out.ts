/** Turns a workload's order into a call of the queue. The compiler checks that every verb
 * is named here. */
import type { VerbOptions, VerbResult } from '../../admin/verbs/tally.js'
import type { Selector } from '../../admin/select/selector.js'
import type { Queue } from '../../queue.js'
import { domainOf } from '../../base/mail-address.js'
import { otherNexthop, type VerbName, type VerbStep } from './workload.js'

export const carryOut = (
  queue: Queue,
  verb: VerbName,
  selector: Selector,
  options: VerbOptions,
): Promise<VerbResult> => {
  switch (verb) {
    case 'reroute':
      return queue.reroute(selector, { nexthop: otherNexthop }, options)
    case 'flush':
      return queue.flush(selector, { ...options, perSecond: 1000 })
    case 'hold':
    case 'release':
    case 'requeue':
    case 'delete':
    case 'expire':
      return queue[verb](selector, options)
  }
}

/** What is known of the message that an order is for. */
export interface Meant {
  readonly id: string | undefined
  readonly recipients: Iterable<string>
}

/** The selector of an order. It names the last recipient, which stands in the last frame of a
 * large message. */
export function selectorOf({ sender, by = 'sender' }: VerbStep, { id, recipients }: Meant): Selector {
  const last = [...recipients].at(-1)!
  switch (by) {
    case 'sender':
      return { sender }
    case 'all':
      return { all: true }
    case 'id':
      return id === undefined ? { sender } : { id }
    case 'recipient':
      return { sender, recipient: last }
    case 'nexthop':
      return { sender, nexthop: domainOf(last) }
    case 'domain':
      return { nexthop: domainOf(last) }
    case 'lane':
      return { sender, lane: 'deferred' }
  }
}
