/** Guarantees of what operators have suspended, and of mail that waits for a limit. */
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
    'engine/beginning.js',
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
  one(
    'limited-is-put-on-hold',
    'mail that waits for a limit goes when it has its turn',
    'engine/settle/settle.js',
    'if (turn !== undefined && message.pendingCount > 0)',
    'if (false)',
  ),
  one(
    'limited-is-given-up',
    'a limit gives up no mail before its age',
    'engine/settle/decide.js',
    'return endsAt(ageMs) && !endsAt(0);',
    'return true;',
  ),
  one(
    'limited-keeps-its-slot',
    'a delivery that a limit keeps is taken back from the scheduler',
    'engine/deliver/dispatch.js',
    "this.#scheduler.report(entry, 'untried', nowMs);",
    '{}',
  ),
]
