/** Guarantees of what operators have suspended. */
import { one, type Mutation } from './mutation.js'

export const suspensionMutations: readonly Mutation[] = [
  one(
    'suspension-settles-early',
    'a suspension is durable when it settles',
    'admin/verbs/suspend.js',
    'await life.orEnd(engine.checkpoint());',
    '',
  ),
  one(
    'suspensions-not-recorded',
    'each checkpoint says what is suspended',
    'engine/checkpoint/capture.js',
    'suspensions: suspensions.capture(),',
    '',
  ),
  one(
    'suspensions-forgotten',
    'a life suspends what its checkpoint says',
    'engine/open.js',
    'checkpoint.suspensions ?? []',
    '[]',
  ),
  one(
    'suspended-is-attempted',
    'no delivery to what is suspended begins',
    'engine/life/suspensions.js',
    'return this.#count === 0 || this.over(transport, nexthop) === undefined ? undefined : suspended;',
    'return undefined;',
  ),
]
