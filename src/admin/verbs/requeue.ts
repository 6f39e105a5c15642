/** Treats messages as if they had just been accepted, with their ids. */
import type { OpenedEngine } from '../../engine/open.js'
import type { Order } from '../../engine/settle/orders.js'
import type { Selector } from '../select/selector.js'
import type { VerbOptions, VerbResult } from './tally.js'
import { carryOut } from './verb.js'

const order: Order = { kind: 'move', lane: 'incoming', changes: { isNew: true } }

export const requeue = (
  opened: OpenedEngine,
  selector: Selector,
  options: VerbOptions,
): Promise<VerbResult> => carryOut(opened, selector, { orderFor: () => order }, options)
