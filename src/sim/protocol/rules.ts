/** The rules of the record protocol; each can be removed.
 * Invariant: without any one of them a promise is broken, and the search finds how;
 * test/crash/protocol.test.ts demands it. */

export const rules = [
  'nothing is started behind the checkpointed end',
  'lane content behind the checkpointed end is ignored',
  'the checkpoint record comes after the lane sync',
  'a failed lane sync ends the life',
  'pins are those of the capture',
  'the suffix start is that of the capture',
  'replacement and note are appended in one step',
  'the runner position counts only what has a start record',
  'no checkpoint during the recovery scan',
  'marks are captured with the end',
  'recovered marks are appended again',
  'the last batch is rewritten, not only synced',
  'a batch counts all or nothing',
  "a later recovery does not judge an earlier life's notes",
] as const

export type Rule = (typeof rules)[number]
