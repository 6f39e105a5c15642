/** All removable guarantees. */
import { damageMutations } from './damage-mutations.js'
import { disturbanceMutations } from './disturbance-mutations.js'
import { failureMutations } from './failure-mutations.js'
import { keyMutations } from './key-mutations.js'
import { logMutations } from './log-mutations.js'
import { messageMutations } from './message-mutations.js'
import type { Mutation } from './mutation.js'
import { timeMutations } from './time-mutations.js'
import { recoveryMutations } from './recovery-mutations.js'
import { outcomeMutations } from './outcome-mutations.js'
import { storeMutations } from './store-mutations.js'
import { suspensionMutations } from './suspension-mutations.js'

export const mutations: readonly Mutation[] = [
  ...logMutations,
  ...recoveryMutations,
  ...messageMutations,
  ...disturbanceMutations,
  ...failureMutations,
  ...damageMutations,
  ...keyMutations,
  ...outcomeMutations,
  ...storeMutations,
  ...timeMutations,
  ...suspensionMutations,
]
