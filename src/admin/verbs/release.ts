/** Makes messages on hold due now, with unchanged attempts and age. */
import { isOnHold } from '../select/listing.js'
import type { OpenedEngine } from '../../engine/open.js'
import type { Order } from '../../engine/settle/orders.js'
import type { Selector } from '../select/selector.js'
import type { VerbOptions, VerbResult } from './tally.js'
import { carryOut } from './verb.js'

const order: Order = { kind: 'move', lane: 'incoming', changes: {} }

export const release = (
  opened: OpenedEngine,
  selector: Selector,
  options: VerbOptions,
): Promise<VerbResult> =>
  carryOut(
    opened,
    selector,
    {
      orderFor: (found) => (isOnHold(found) ? order : undefined),
      isAsked: (lane) => lane.kind === 'hold' || lane.kind === 'incoming',
    },
    options,
  )
