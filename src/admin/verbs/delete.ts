/** Deletes messages without reports. No later life brings them back. */
import type { OpenedEngine } from '../../engine/open.js'
import type { Order } from '../../engine/settle/orders.js'
import type { Selector } from '../select/selector.js'
import type { VerbOptions, VerbResult } from './tally.js'
import { carryOut } from './verb.js'

const order: Order = { kind: 'delete' }

export const deleteMessages = (
  opened: OpenedEngine,
  selector: Selector,
  options: VerbOptions,
): Promise<VerbResult> => carryOut(opened, selector, { orderFor: () => order }, options)
