/** The record protocol in small, for an exhaustive search: two messages, one retry lane, checkpoints without bound, two crashes of three
 * kinds, and after each of them recovery and another life.
 * Invariant: with all its rules no promise is broken in any order of steps; promises.ts says what that is.
 *
 * Decided by the engine's own code: what a recovery makes of the records (WorkingSet, ActiveMessage), what a runner starts next and where
 * it may be restarted (Runner), which marks are in no record yet (Marks), which segments may go (SegmentPins).
 * Modelled here: the disk, and the order in which engine/ acts: settle, capture, lane sync, record, crash, recovery, and the walk
 * along the chain of marks.
 *
 * What keeps the search small, and why it leaves nothing out:
 * 1. A sync of the journal is no step. Until a checkpoint is known to be durable nobody asks what is; so a crash chooses how much had
 *    been written: any set of records that some order of the same steps could have written first (history.ts).
 * 2. What is appended without a wait in between, and an attempt with its end, is one step: a crash cuts between their records all the same.
 * 3. A crash and the recovery behind it, up to the capture of its checkpoint, are one step: nothing can come between but another
 *    crash, and that is one at its end which takes more records.
 * 4. Records that commute stand in one order, what no recovery will read is left out, starts are numbered from the suffix.
 * Not in it: the making of a submission (both messages are settled at the outset), several lanes, segments with more than one envelope,
 * the bytes of a batch and of what was cut behind it, groups, bounces, spool files, new starts for what is active for long, compaction, full
 * disks. The simulated disk has those. */
import { checkpointSteps } from './checkpoint.js'
import { crashSteps } from './crash.js'
import { lifeSteps } from './life.js'
import { violationOf } from './promises.js'
import { recoverySteps } from './recovery.js'
import type { Rule } from './rules.js'
import type { Protocol } from './search.js'
import { firstState, keyOf, type State } from './state.js'
import { variantOf } from './variant.js'

/** @param without the rule that is taken away */
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
