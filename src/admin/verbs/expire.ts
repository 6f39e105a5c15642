/** Ends messages as if they were too old, with a report to the sender. */
import type { OpenedEngine } from '../../engine/open.js'
import type { Order } from '../../engine/settle/orders.js'
import type { Selector } from '../select/selector.js'
import type { VerbOptions, VerbResult } from './tally.js'
import { carryOut } from './verb.js'

const order: Order = { kind: 'expire' }

export const expire = (opened: OpenedEngine, selector: Selector, options: VerbOptions): Promise<VerbResult> =>
  carryOut(opened, selector, { orderFor: () => order }, options)
