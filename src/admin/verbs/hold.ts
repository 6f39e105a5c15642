/** Puts messages on hold: no attempts until they are released, in this life or any later one. */
import { isOnHold } from '../select/listing.js'
import type { OpenedEngine } from '../../engine/open.js'
import type { Order } from '../../engine/settle/orders.js'
import type { Selector } from '../select/selector.js'
import type { VerbOptions, VerbResult } from './tally.js'
import { carryOut } from './verb.js'

const order: Order = { kind: 'move', lane: 'hold', changes: {} }

export const hold = (opened: OpenedEngine, selector: Selector, options: VerbOptions): Promise<VerbResult> =>
  carryOut(
    opened,
    selector,
    { orderFor: (found) => (isOnHold(found) ? undefined : order), isAsked: (lane) => lane.kind !== 'hold' },
    options,
  )
