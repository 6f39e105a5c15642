/** A workload's verb as the call of the queue that it stands for: each verb of the face is named here, or the compiler says so. */
import type { VerbResult } from '../admin/tally.js'
import type { Selector } from '../engine/selector.js'
import type { Queue } from '../queue/queue.js'
import { otherNexthop, type VerbName } from './workload.js'

export const carryOut = (queue: Queue, verb: VerbName, selector: Selector): Promise<VerbResult> => {
  switch (verb) {
    case 'reroute':
      return queue.reroute(selector, { nexthop: otherNexthop })
    case 'flush':
      return queue.flush(selector, { perSecond: 1000 })
    case 'hold':
    case 'release':
    case 'requeue':
    case 'delete':
    case 'expire':
      return queue[verb](selector)
  }
}
