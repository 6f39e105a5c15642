/** The scheduler's destinations for who reads a clock on the wall. */
import type { DestinationSnapshot } from '../../scheduler/scheduler.js'

/** @param offsetMs from the monotonic clock, by which the scheduler goes, to the wall clock */
export const byWallClock = (
  destinations: Iterable<DestinationSnapshot>,
  offsetMs: number,
): readonly DestinationSnapshot[] =>
  [...destinations].map((destination) => {
    const { state } = destination
    return state.kind === 'ready'
      ? destination
      : { ...destination, state: { ...state, untilMs: Math.round(state.untilMs + offsetMs) } }
  })
