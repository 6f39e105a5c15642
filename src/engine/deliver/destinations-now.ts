/** The scheduler's destinations for who reads a clock on the wall. */
import type { Clock } from '../../base/clock.js'
import type { DestinationSnapshot } from '../../scheduler/scheduler.js'

/** The scheduler goes by the monotonic clock. */
export function byWallClock(
  destinations: Iterable<DestinationSnapshot>,
  clock: Clock,
): readonly DestinationSnapshot[] {
  const offsetMs = clock.wallMs() - clock.monotonicMs()
  return [...destinations].map((destination) => {
    const { state } = destination
    return state.kind === 'ready'
      ? destination
      : { ...destination, state: { ...state, untilMs: Math.round(state.untilMs + offsetMs) } }
  })
}
