/** What a queue can be told while it lives: other limits for deliveries, and further transports.
 * Invariant: everything is checked before anything has changed. A transport that the queue has stays, and so
 * do messages that were routed to it. */
import { checkOptionNames } from '../../base/option-names.js'
import { WaybillError } from '../../errors.js'
import { checkScheduler, checkTransports } from './option-checks.js'
import type { EngineOptions, QueueOptions } from './options.js'

export interface Change {
  /** Instead of what it was opened with. Parameters of memory are fixed: `recipientLimit`,
   * `extraRecipientLimit`, `deliverySlotCost`, and those that begin with `qmgr`. */
  readonly scheduler?: NonNullable<QueueOptions['scheduler']>
  /** Beside those that there are; a name is given once. */
  readonly transports?: QueueOptions['transports']
}

/** @returns the options as they would be
 * @throws WaybillError OPTION_INVALID */
export function checkedChange(
  options: EngineOptions,
  change: Change,
): Pick<EngineOptions, 'scheduler' | 'activeCountMax'> {
  checkOptionNames(change, { scheduler: true, transports: true })
  const { scheduler = options.scheduler, transports = {} } = change
  checkTransports(transports)
  for (const name of Object.keys(transports))
    if (Object.hasOwn(options.transports, name))
      throw new WaybillError('OPTION_INVALID', 'there is a transport of that name', {
        option: `transports.${name}`,
      })
  checkScheduler(scheduler, { ...options.transports, ...transports })
  return { scheduler, activeCountMax: options.activeCountMax }
}

/** The change was checked. */
export function takeUp(options: EngineOptions, { scheduler, transports }: Change): void {
  if (scheduler !== undefined) options.scheduler = scheduler
  Object.assign(options.transports, transports)
}
