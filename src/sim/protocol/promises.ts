/** Finds broken promises in a state: a settled message lost, doubled, revived or in two places.
 * Invariant: durable or trusted facts are judged, not the engine's memory. An attempt may be
 * repeated if its outcome was not durable (O3). */
import { isEnded, messages, type Active, type State } from './state.js'

export function violationOf(state: State): string | undefined {
  if (state.broken !== undefined) return state.broken
  for (const active of [...state.active, ...state.waiting])
    if (!isThere(state, active)) return `a message is active again and its content is gone`
  for (const message of messages) {
    const count = placeCount(state, message)
    const fate = state.fates[message]
    const ended = isEnded(state, message)
    if (count > 1) return `message ${message} is in ${count} places`
    if (count > 0 && (fate === 'finished' || ended)) return `message ${message} is finished, and comes back`
    if (count === 0 && fate === 'pending' && !ended) return `message ${message} is lost`
  }
  return undefined
}

function isThere({ lane, gone }: State, { message, place }: Active): boolean {
  if (gone[place.lane].includes(place.index)) return false
  const entry = lane[place.index]
  return place.lane === 0 || (entry?.kind === 'envelope' && entry.message === message)
}

/** Where it waits or is being worked on. */
function placeCount(state: State, message: number): number {
  const { active, waiting, lane, gone, runners, marked } = state
  const isActive = [...active, ...waiting].filter((one) => one.message === message).length
  const isIncoming = message >= runners[0] && !gone[0].includes(message) ? 1 : 0
  const inLane = lane.filter(
    (entry, index) =>
      entry.kind === 'envelope' &&
      entry.message === message &&
      index >= runners[1] &&
      !marked.includes(index) &&
      !gone[1].includes(index),
  ).length
  // The life that made half of a replacement knows that it is half.
  const half = active.filter((one) => one.message === message && one.half).length
  return isActive + isIncoming + inLane - half
}
