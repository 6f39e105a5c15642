/** Where the loss of each guarantee was noticed last.
 * Invariant: a clue is a place of a hunt, so that following it first saves the way there and proves no less; one that the engine has
 * outgrown costs the whole hunt again. `npm run crash -- --sabotage --anew` hunts without them and prints this table. */
import type { HuntName } from '../../src/sim/hunt.js'

/** What of a hunt is tried. */
export interface Place {
  readonly hunt: HuntName
  readonly seed: number
  /** Only what comes before this operation. Default: all of the hunt, from this seed on. */
  readonly op?: number
}

/** By the name of the mutation. */
export const clues: Readonly<Record<string, Place>> = {
  'journal-not-synced': { hunt: 'random', seed: 1, op: 78 },
  'ticket-joins-sync': { hunt: 'random', seed: 1, op: 94 },
  'segment-name-not-synced': { hunt: 'random', seed: 2, op: 20 },
  'checksum-without-place': { hunt: 'random', seed: 3, op: 144 },
  'half-batch-counts': { hunt: 'everything', seed: 1, op: 69 },
  'last-batch-not-rewritten': { hunt: 'failing', seed: 1, op: 68 },
  'failed-write-retried': { hunt: 'failing', seed: 1, op: 68 },
  'lane-sync-retried': { hunt: 'failing', seed: 1, op: 124 },
  'cut-tail-comes-back': { hunt: 'random', seed: 1, op: 88 },
  'checkpoint-before-envelopes': { hunt: 'random', seed: 1 },
  'checkpoint-before-data': { hunt: 'random', seed: 1 },
  'lane-names-not-synced': { hunt: 'random', seed: 1, op: 172 },
  'lane-not-padded': { hunt: 'turning', seed: 1, op: 109 },
  'segment-without-checkpoint': { hunt: 'random', seed: 1, op: 172 },
  'stale-checkpoint-copied': { hunt: 'carried', seed: 1, op: 101 },
  'older-checkpoint-named': { hunt: 'carried', seed: 1, op: 101 },
  'spool-file-not-synced': { hunt: 'random', seed: 1, op: 174 },
  'spool-name-not-synced': { hunt: 'random', seed: 10, op: 124 },
  'spool-unlinked-early': { hunt: 'random', seed: 9, op: 152 },
  'spool-holds-no-suffix': { hunt: 'random', seed: 56, op: 143 },
  'spool-names-forgotten': { hunt: 'random', seed: 1, op: 214 },
  'cut-off-file-comes-back': { hunt: 'random', seed: 7, op: 142 },
  'lane-tail-believed': { hunt: 'random', seed: 1, op: 182 },
  'replaced-never-believed': { hunt: 'random', seed: 1, op: 161 },
  'report-note-forgotten': { hunt: 'random', seed: 1, op: 182 },
  'carrying-start-adds': { hunt: 'random', seed: 10, op: 189 },
  'carrying-forgets-outcomes': { hunt: 'random', seed: 1, op: 161 },
  'carrying-forgets-reports': { hunt: 'random', seed: 1, op: 182 },
  'recycled-one-checkpoint-early': { hunt: 'random', seed: 5, op: 89 },
  'pins-forgotten': { hunt: 'carried', seed: 1, op: 63 },
  'suffix-forgets-active': { hunt: 'random', seed: 1, op: 161 },
  'runner-position-is-read-position': { hunt: 'crowded', seed: 1, op: 63 },
  'checkpoint-during-recovery': { hunt: 'random', seed: 2, op: 20 },
  'incoming-begins-late': { hunt: 'everything', seed: 1, op: 74 },
  'marker-of-runner-lost': { hunt: 'random', seed: 1, op: 96 },
  'mark-forgotten': { hunt: 'random', seed: 3, op: 99 },
  'marks-not-recorded': { hunt: 'random', seed: 9, op: 82 },
  'marks-of-suffix-forgotten': { hunt: 'random', seed: 1, op: 214 },
  'recorded-marks-forgotten': { hunt: 'random', seed: 9, op: 82 },
  'move-to-incoming-not-believed': { hunt: 'random', seed: 4, op: 147 },
  'lane-retired-while-active': { hunt: 'changed', seed: 1, op: 84 },
  'lane-retired-with-mail': { hunt: 'changed', seed: 1, op: 82 },
  'runner-past-checkpoint': { hunt: 'random', seed: 1 },
  'runner-past-durable': { hunt: 'random', seed: 1 },
  'outcome-not-recorded': { hunt: 'random', seed: 1, op: 128 },
  'success-waits-for-sync': { hunt: 'random', seed: 4 },
  'finish-before-report': { hunt: 'random', seed: 1, op: 172 },
  'report-written-twice': { hunt: 'random', seed: 1, op: 182 },
  'ordered-start-apart': { hunt: 'redirected', seed: 1, op: 198 },
  'verb-settles-early': { hunt: 'random', seed: 2, op: 59 },
  'verb-does-not-look-again': { hunt: 'random', seed: 90 },
  'verb-overtakes-attempt': { hunt: 'random', seed: 7, op: 142 },
  'attempted-though-it-only-accepts': { hunt: 'accepting between', seed: 1, op: 101 },
  'order-waits-for-attempts': { hunt: 'accepting between', seed: 1, op: 101 },
  'one-frame-of-recipients': { hunt: 'many recipients', seed: 1 },
  'addresses-counted-not-indexed': { hunt: 'many recipients', seed: 1, op: 142 },
  'warned-at-every-attempt': { hunt: 'random', seed: 3 },
  'appended-without-room': { hunt: 'random', seed: 29 },
  'waits-by-the-wall-clock': { hunt: 'clock is set', seed: 1 },
  'early-when-set-back-twice': { hunt: 'clock is set', seed: 1 },
  'attempted-without-room-for-outcomes': { hunt: 'random', seed: 104, op: 112 },
  'too-old-when-set-back': { hunt: 'clock is set', seed: 1 },
  'aborted-though-appended': { hunt: 'given up', seed: 1 },
  'compacted-into-incoming': { hunt: 'crowd on hold', seed: 1, op: 208 },
  'rewrite-fails-unheard': { hunt: 'torture', seed: 31 },
  'unread-is-forgotten': { hunt: 'torture', seed: 92 },
}
