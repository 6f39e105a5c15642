/** When memory is crowded, no destination keeps more than it can deliver until what is put off
 * would be tried again.
 * Invariant: recipients are put off only for a destination that was watched for `watchMs` while
 * memory was crowded, and only as far as more waits than it ends within `minimalBackoffTime`: so
 * a destination is not slower for it, and the others get room. Postfix keeps all in the active
 * queue until it is full, and then no other destination gets mail (QSHAPE_README). */
import type { Destination } from './destination.js'
import type { DeferReason } from './face.js'
import type { SchedulerState } from './state.js'

/** Long enough for a first connection to a destination that is quick from then on. */
const watchMs = 5000
/** Between two looks at all destinations. */
export const lookMs = 1000

export const crowded: DeferReason = {
  status: '4.4.5',
  text: 'more mail waits for this destination than it takes; this mail is tried again later',
}

export function isCrowded({ parameters, messages }: SchedulerState): boolean {
  const { crowdedActiveCount } = parameters
  return crowdedActiveCount > 0 && messages.count >= crowdedActiveCount
}

/** A message has entered. */
export function watchWhenCrowded(state: SchedulerState): void {
  if (state.relieveAtMs === Infinity && isCrowded(state)) state.relieveAtMs = state.nowMs
}

/** So much waits for the destination already that more would only take room from others. */
export const isFull = (state: SchedulerState, { pace, todo }: Destination): boolean =>
  pace !== undefined && todo >= pace.keptMax && isCrowded(state)

/** Begins to count what ends, or says how much may wait when that was counted for long enough. */
export function watch({ nowMs, parameters }: SchedulerState, destination: Destination): void {
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
