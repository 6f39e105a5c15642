/** Brings destinations and transports back, by a timer or on request.
 * Invariant: a destination that becomes ready has entries, or is forgotten. One that was suspended
 * may have blocked jobs; these are released. */
import { releaseBlockers } from './blockers.js'
import { forgetIfIdle } from './completion.js'
import { revive, unsuspend } from './concurrency.js'
import type { Destination } from './destination.js'
import type { FiredTimer } from './interface.js'
import type { SchedulerState } from './state.js'
import type { Transport } from './transport.js'

/** Fires the first timer that is due. @returns undefined when none is */
export function fireTimer(state: SchedulerState): FiredTimer | undefined {
  const timer = state.timers.takeDue(state.nowMs)
  if (timer === undefined) return undefined
  const { kind, transport, destination } = timer
  if (destination === undefined) {
    reviveTransport(state, transport)
    return { kind, transport: transport.name }
  }
  destination.timer = undefined
  if (kind === 'revive') revive(state, destination, false)
  if (kind === 'resume') {
    unsuspend(state, destination)
    releaseBlockers(destination)
  }
  forgetIfIdle(state, destination)
  return { kind, transport: transport.name, name: destination.name }
}

/** Makes a dead transport ready, and cancels its timer. */
export function reviveTransport(state: SchedulerState, transport: Transport): void {
  transport.dead = undefined
  if (transport.timer !== undefined) state.timers.cancel(transport.timer)
  transport.timer = undefined
}

/** The destination of this name if it is dead or suspended; undefined otherwise. */
export function restingDestination(
  state: SchedulerState,
  transport: string,
  name: string,
): Destination | undefined {
  const destination = state.transports.get(transport)?.destinations.get(name.toLowerCase())
  return destination?.state.kind === 'ready' ? undefined : destination
}

/** Makes a dead or suspended destination ready before its time.
 * @returns false when it is neither */
export function resumeDestination(state: SchedulerState, transport: string, name: string): boolean {
  const destination = restingDestination(state, transport, name)
  if (destination === undefined) return false
  destination.rate?.clear()
  if (destination.state.kind === 'dead') revive(state, destination, false)
  else unsuspend(state, destination)
  releaseBlockers(destination)
  forgetIfIdle(state, destination)
  return true
}
