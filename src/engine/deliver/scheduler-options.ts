/** The scheduler's options in a queue: what the user says, above what a queue adds to Postfix's
 * rules by default. */
import type { SchedulerOptions } from '../../scheduler/scheduler.js'
import type { EngineOptions } from '../life/options.js'

/** Destinations that hang leave processes to the others, and those that are slow leave memory. */
export function schedulerOptionsOf({
  scheduler,
  activeCountMax,
}: Pick<EngineOptions, 'scheduler' | 'activeCountMax'>): SchedulerOptions {
  return {
    defaultProcessReserve: 20,
    defaultUnansweredProcessShare: 25,
    crowdedActiveCount: Math.ceil(0.8 * activeCountMax),
    ...scheduler,
    // Recovery may bring back twice as many as may be active.
    qmgrMessageActiveLimit: 2 * activeCountMax,
  }
}
