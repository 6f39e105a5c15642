/** Limits the entries of each destination while memory is crowded.
 * Invariant: recipients are put off only for a destination that was watched for `watchMs` while
 * memory was crowded, and only those that it cannot end within `minimalBackoffTime`. So it is not
 * slower for it, and others get room.
 * Why: Postfix keeps all in the active queue until it is full, and then no other destination gets
 * mail (QSHAPE_README). */
import type { Destination } from './destination.js'
import type { DeferReason } from './interface.js'
import type { SchedulerState } from './state.js'

/** Long enough for a first connection to a destination that is quick from then on. */
const watchMs = 5000
/** Between two looks at all destinations. */
export const lookMs = 1000

/** The reason of a deferral by crowding. */
export const crowded: DeferReason = {
  status: '4.4.5',
  text: 'more mail waits for this destination than it takes; this mail is tried again later',
}

/** Is memory crowded: are at least `crowdedActiveCount` messages active? */
export function isCrowded({ parameters, messages }: SchedulerState): boolean {
  const { crowdedActiveCount } = parameters
  return crowdedActiveCount > 0 && messages.count >= crowdedActiveCount
}

/** To be called when a message has entered: begins to watch destinations if memory is crowded. */
export function watchWhenCrowded(state: SchedulerState): void {
  if (state.relieveAtMs === Infinity && isCrowded(state)) state.relieveAtMs = state.nowMs
}

/** Do so many entries wait for the destination that more would only take room from others? */
export const isFull = (state: SchedulerState, { pace, todo }: Destination): boolean =>
  pace !== undefined && todo >= pace.keptMax && isCrowded(state)

/** Begins to count ended deliveries, or sets how many may wait when they were counted long
 * enough. */
export function watch({ nowMs, parameters }: SchedulerState, destination: Destination): void {
  // A dead one takes nothing and keeps nothing: its pace would say that none may wait.
  if (destination.state.kind === 'dead') {
    destination.pace = undefined
    return
  }
  const { pace, endCount } = destination
  const isStale = pace === undefined || nowMs - pace.seenAtMs > 2 * lookMs
  const elapsedMs = isStale ? 0 : nowMs - pace.sinceMs
  if (!isStale) pace.seenAtMs = nowMs
  if (!isStale && elapsedMs < watchMs) return
  const endsInTime = (endCount * parameters.minimalBackoffTime * 1000) / elapsedMs
  const keptMax = isStale ? Infinity : Math.max(endsInTime, destination.window)
  destination.pace = { sinceMs: nowMs, seenAtMs: nowMs, keptMax }
  destination.endCount = 0
}
