/** The record protocol in small, for an exhaustive search.
 * It has two messages, one retry lane, any number of checkpoints, two crashes of three kinds, and
 * after each crash recovery and another life.
 * Invariant: with all its rules no promise (promises.ts) is broken in any order of steps.
 * README.md in this folder says which decisions are the engine's own, and why the small search
 * leaves nothing out. */
import { checkpointSteps } from './checkpoint.js'
import { crashSteps } from './crash.js'
import { lifeSteps } from './life.js'
import { violationOf } from './promises.js'
import { recoverySteps } from './recovery.js'
import type { Rule } from './rules.js'
import type { Protocol } from './search.js'
import { firstState, keyOf, type State } from './state.js'
import { variantOf } from './variant.js'

/** @param without the removed rule */
export function recordProtocol(without?: Rule): Protocol<State> {
  const variant = variantOf(without)
  return {
    first: firstState,
    keyOf,
    violationOf,
    stepsOf: (state) => [
      ...recoverySteps(state, without),
      ...lifeSteps(state, variant),
      ...checkpointSteps(state, variant),
      ...crashSteps(state, variant),
    ],
  }
}
