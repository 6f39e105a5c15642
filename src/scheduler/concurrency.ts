/** Decides how many deliveries at once a destination gets: feedback with hysteresis, death by
 * failed cohorts, revival.
 * Invariant: a living destination's window lies in 1 … its limit. Success raises it at the END of
 * 1/g deliveries, failure lowers it at the START of 1/f: so one overload is corrected at once and
 * one success proves little. */
import { assert } from '../base/assert.js'
import { ready, type Destination } from './destination.js'
import type { DeferReason, FeedbackEvent } from './interface.js'
import type { SchedulerState } from './state.js'

const perCohort: Feedback = { kind: 'per-window', x: 1 }

/** After a delivery whose site gave no trouble; it still counts as busy. Revives a
 * dead destination. */
export function praise(state: SchedulerState, destination: Destination): void {
  destination.failCohorts = 0
  if (destination.state.kind === 'dead') {
    revive(state, destination, true)
    return
  }
  if (destination.recovery !== 'none') climb(state, destination)
  else raise(state, destination)
  destination.recount()
}

function raise(state: SchedulerState, destination: Destination): void {
  const { positiveFeedback, windowLimit, initialWindow } = destination.transport.settings
  let amount = 0
  // A window far above what is in use would take too many failures to come down.
  if (destination.window < windowLimit && destination.window < destination.busy + initialWindow) {
    amount = feedbackAt(positiveFeedback, destination.window)
    const lead = state.parameters.feedbackRounding ? amount / 2 : 0
    destination.success += amount
    while (destination.success + lead >= 1) {
      destination.window += 1
      destination.success -= 1
      destination.failure = 0
    }
    destination.window = Math.min(destination.window, windowLimit)
  }
  report(state, destination, 'positive', amount)
}

/** Recovery: the canary came back, or a step of slow start. */
function climb(state: SchedulerState, destination: Destination): void {
  const { initialWindow, destinationSlowStart } = destination.transport.settings
  let amount = 0
  if (destination.recovery === 'canary') {
    if (destinationSlowStart) destination.recovery = 'slow-start'
    else recovered(destination)
  }
  if (destination.recovery === 'slow-start') {
    amount = feedbackAt(perCohort, destination.window)
    destination.success += amount
    if (destination.success + amount / 2 >= 1) {
      destination.window += 1
      destination.success = 0
      destination.failure = 0
    }
    if (destination.window >= initialWindow) recovered(destination)
  }
  report(state, destination, 'positive', amount)
}

/** Never below what is under way, some of it perhaps from before the outage: as without recovery,
 * it would hold up others. */
function recovered(destination: Destination): void {
  destination.window = Math.max(destination.transport.settings.initialWindow, destination.busy)
  destination.recovery = 'none'
}

/** After trouble of the site of a living destination. @returns true when it is dead now. */
export function blame(state: SchedulerState, destination: Destination, reason: DeferReason): boolean {
  assert(destination.window > 0, 'only a living destination is blamed')
  const { destinationConcurrencyFailedCohortLimit: limit, negativeFeedback } = destination.transport.settings
  destination.failCohorts += 1 / destination.window
  const dead = destination.recovery === 'canary' || (limit > 0 && destination.failCohorts >= limit)
  if (dead) {
    kill(state, destination, reason)
  } else {
    const amount = feedbackAt(negativeFeedback, destination.window)
    const lead = state.parameters.feedbackRounding ? amount / 2 : 0
    destination.failure -= amount
    while (destination.failure - lead < 0) {
      destination.window -= 1
      destination.failure += 1
      destination.success = 0
    }
    destination.window = Math.max(destination.window, 1)
    report(state, destination, 'negative', -amount)
  }
  destination.recount()
  return dead
}

/** Why recipients are put off while their site is dead, in Postfix's words. */
export const whileDead = ({ status, text, remote }: DeferReason): DeferReason => ({
  status,
  text: `delivery temporarily suspended: ${text}`,
  remote,
})

function kill(state: SchedulerState, destination: Destination, reason: DeferReason): void {
  const untilMs = state.nowMs + state.parameters.minimalBackoffTime * 1000
  destination.window = 0
  destination.recovery = 'none'
  destination.state = { kind: 'dead', untilMs, reason }
  setTimer(state, destination, 'revive', untilMs)
  report(state, destination, 'dead', 0)
}

/** Back from the dead, with as many deliveries as are under way, or the initial concurrency.
 * @param proven a delivery just went well: no canary is needed */
export function revive(state: SchedulerState, destination: Destination, proven: boolean): void {
  const { initialWindow, destinationCanary, destinationSlowStart, destinationRecoveryTime } =
    destination.transport.settings
  clearTimer(state, destination)
  destination.failCohorts = 0
  destination.success = 0
  destination.failure = 0
  destination.window = destination.busy > 0 ? destination.busy : initialWindow
  if (destinationCanary && !proven) {
    destination.window = 1
    destination.recovery = 'canary'
  } else if (destinationSlowStart && (!proven || destination.busy < initialWindow)) {
    destination.window = proven ? destination.busy : 1
    destination.recovery = 'slow-start'
  }
  destination.recoveryUntilMs =
    destination.recovery === 'none' ? 0 : state.nowMs + destinationRecoveryTime * 1000
  destination.state = ready
  report(state, destination, 'revived', 0)
  destination.recount()
  limitRate(state, destination)
}

/** No delivery may start before that time. */
export function suspend(state: SchedulerState, destination: Destination, untilMs: number): void {
  destination.state = { kind: 'suspended', untilMs }
  setTimer(state, destination, 'resume', untilMs)
  destination.recount()
}

/** The suspension is over. */
export function unsuspend(state: SchedulerState, destination: Destination): void {
  clearTimer(state, destination)
  destination.state = ready
  destination.recount()
}

/** After a delivery: suspends the destination for its rate delay, or for longer when its rate
 * limit wants that. */
export function delayRate(state: SchedulerState, destination: Destination): void {
  const { destinationRateDelay } = destination.transport.settings
  if (destinationRateDelay === 0 || destination.state.kind === 'dead') return
  const untilMs = state.nowMs + destinationRateDelay * 1000
  if (destination.state.kind === 'ready' || destination.state.untilMs < untilMs)
    suspend(state, destination, untilMs)
}

/** Suspends the destination when its rate limit is used up. */
export function limitRate(state: SchedulerState, destination: Destination): void {
  const freeAtMs = destination.rate?.freeAtMs ?? -Infinity
  if (freeAtMs > state.nowMs) suspend(state, destination, freeAtMs)
}

/** Sets the destination's only timer, in place of an earlier one. @param dueMs as `nowMs` counts */
export function setTimer(
  state: SchedulerState,
  destination: Destination,
  kind: 'revive' | 'resume' | 'forget',
  dueMs: number,
): void {
  clearTimer(state, destination)
  destination.timer = state.timers.ask(kind, dueMs, destination.transport, destination)
}

function clearTimer(state: SchedulerState, destination: Destination): void {
  if (destination.timer === undefined) return
  state.timers.cancel(destination.timer)
  destination.timer = undefined
}

function report(
  state: SchedulerState,
  destination: Destination,
  kind: FeedbackEvent['kind'],
  feedback: number,
): void {
  if (!state.traced) return
  const { name, window, success, failure, failCohorts, transport } = destination
  const limit = transport.settings.destinationConcurrencyLimit
  state.host.onFeedback!({
    kind,
    transport: transport.name,
    name,
    feedback,
    limit,
    window,
    success,
    failure,
    failCohorts,
  })
}

/** How much one delivery moves a destination's concurrency: g(N) after one without trouble of the
 * site, f(N) after one with.
 * Invariant: the amount lies in 0 … 1 for every window N ≥ 1. */
export interface Feedback {
  readonly kind: 'constant' | 'per-window' | 'per-root'
  readonly x: number
}

const number = String.raw`(\d+(?:\.\d*)?|\.\d+)`
const form = new RegExp(`^${number}(?:\\s*/\\s*(?:${number}|(concurrency|sqrt_concurrency)))?$`)

/** Reads `0.5`, `1/8`, `1/concurrency` or `1/sqrt_concurrency`; undefined if it has none of these
 * forms or is above 1. */
export function parseFeedback(text: string): Feedback | undefined {
  const match = form.exec(text.trim())
  if (match === null) return undefined
  const [, above, below, name] = match
  const x = Number(above) / (below === undefined ? 1 : Number(below))
  if (!(x >= 0 && x <= 1)) return undefined
  if (name === undefined) return { kind: 'constant', x }
  return { kind: name === 'concurrency' ? 'per-window' : 'per-root', x }
}

/** The amount at this window. @param window deliveries at once, ≥ 1 */
export function feedbackAt(feedback: Feedback, window: number): number {
  switch (feedback.kind) {
    case 'constant':
      return feedback.x
    case 'per-window':
      return feedback.x / window
    case 'per-root':
      return feedback.x / Math.sqrt(window)
  }
}
