/** The scheduler's options in a queue: those of the embedder, above the queue's own defaults, above
 * Postfix's. */
import type { RetryPolicy } from '../../policy/retry-policy.js'
import { processLimitDefault } from '../../scheduler/parameter-bounds.js'
import type { SchedulerOptions } from '../../scheduler/scheduler.js'
import type { ChangedOptions } from '../life/change.js'

/** Of the places of active messages: from here on the mail of one site is put off for the others
 * (crowding.ts). */
export const crowdedShare = 0.8

/** Destinations that hang leave processes to the others, and those that are slow leave memory. */
export function schedulerOptionsOf(options: ChangedOptions): SchedulerOptions {
  const { activeCountMax, retry, transports } = options
  const scheduler = withProcessLimits(options.scheduler, retry, Object.keys(transports))
  return {
    defaultProcessReserve: 20,
    defaultUnansweredProcessShare: 25,
    crowdedActiveCount: Math.ceil(crowdedShare * activeCountMax),
    ...scheduler,
    // Recovery may bring back twice as many as may be active.
    qmgrMessageActiveLimit: 2 * activeCountMax,
  }
}

/** The process limits that a policy needs for its own limits, where they are said nowhere else. A
 * smaller one than the default is kept by the policy's limits. */
export function withProcessLimits(
  scheduler: SchedulerOptions,
  policy: Pick<RetryPolicy, 'processLimitFor'>,
  transports: readonly string[],
): SchedulerOptions {
  if (scheduler.defaultProcessLimit !== undefined) return scheduler
  const raised = transports.flatMap((name) => {
    const processLimit = policy.processLimitFor?.(name) ?? 0
    const own = scheduler.transports?.[name]
    return processLimit <= processLimitDefault || own?.processLimit !== undefined
      ? []
      : [[name, { ...own, processLimit }]]
  })
  if (raised.length === 0) return scheduler
  return { ...scheduler, transports: { ...scheduler.transports, ...Object.fromEntries(raised) } }
}
