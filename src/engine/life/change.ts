/** Changes to an open queue: other limits for deliveries, another policy, and further transports.
 * Invariant: everything is checked before anything has changed. A transport that the queue has
 * stays, and so do messages that were routed to it. */
import { checkOptionNames } from '../../base/options.js'
import { WaybillError } from '../../errors.js'
import type { RetryPolicy } from '../../policy/retry-policy.js'
import { checkLimits, checkPolicy, checkScheduler, checkShaping, checkTransports } from './option-checks.js'
import type { EngineOptions, QueueOptions } from './options.js'

export interface Change {
  /** Replaces the scheduler's parameters. Those of memory are fixed while the queue is open:
   * `recipientLimit`, `extraRecipientLimit`, `deliverySlotCost`, and all that begin with `qmgr`. */
  readonly scheduler?: NonNullable<QueueOptions['scheduler']> | undefined
  /** Replaces the retry policy. Lanes stay: until the queue is opened with this policy, a delay
   * without a lane takes the lane with the nearest interval. */
  readonly retry?: RetryPolicy | undefined
  /** Replaces all limits. A limit that stays keeps its counts. */
  readonly limits?: NonNullable<QueueOptions['limits']> | undefined
  /** Replaces the replies that slow a site. */
  readonly shaping?: NonNullable<QueueOptions['shaping']> | undefined
  /** Adds transports, under new names. */
  readonly transports?: QueueOptions['transports'] | undefined
}

/** What the scheduler's options are made of. */
export type ChangedOptions = Pick<EngineOptions, 'scheduler' | 'activeCountMax' | 'transports'> & {
  readonly retry: Pick<RetryPolicy, 'processLimitFor'>
}

/** @returns the options as they would be
 * @throws WaybillError OPTION_INVALID */
export function checkedChange(options: EngineOptions, change: Change): ChangedOptions {
  checkOptionNames(change, {
    scheduler: true,
    transports: true,
    retry: true,
    limits: true,
    shaping: true,
  })
  checkLimits(change.limits ?? [])
  checkShaping(change.shaping ?? [])
  const { scheduler = options.scheduler, transports = {} } = change
  checkTransports(transports)
  for (const name of Object.keys(transports))
    if (Object.hasOwn(options.transports, name))
      throw new WaybillError('OPTION_INVALID', 'there is a transport of that name', {
        option: `transports.${name}`,
      })
  const all = { ...options.transports, ...transports }
  checkScheduler(scheduler, all)
  if (change.retry !== undefined) checkPolicy(change.retry)
  const { retry = options.retry } = change
  return { scheduler, activeCountMax: options.activeCountMax, retry, transports: all }
}

/** The change was checked. */
export function takeUp(options: EngineOptions, change: Change): void {
  const { scheduler, transports, retry, limits, shaping } = change
  if (limits !== undefined) options.limits = checkLimits(limits)
  if (shaping !== undefined) options.shaping = checkShaping(shaping)
  if (retry !== undefined) options.retry.replace(retry)
  if (scheduler !== undefined) options.scheduler = scheduler
  Object.assign(options.transports, transports)
}
