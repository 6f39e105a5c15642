/** Decides where the journal ends: a table over five facts about the newest segments.
 * A commit is *found* when its frame verifies, and *whole* when its batch does. The segment before
 * is *there* when it has a file, or this is one of the first two.
 *
 * | header valid | last commit found | it is whole | the one before it is whole | the segment before is there | verdict |
 * |---|---|---|---|---|---|
 * | no  | –     | –   | –   | –   | corrupt: a header was synced before the file got its name |
 * | yes | none  | –   | –   | yes | unbegun: prepared ahead, or its first batch was torn; nothing in it was settled |
 * | yes | none  | –   | –   | no  | corrupt: what gave that one free stood in this one, or behind it |
 * | yes | first | no  | –   | yes | unbegun: its first batch was torn |
 * | yes | first | no  | –   | no  | corrupt: what gave that one free stood in this one, or behind it |
 * | yes | first | yes | –   | –   | last: cut behind it |
 * | yes | later | yes | –   | –   | last: batch N was written only after all before it were synced |
 * | yes | later | no  | yes | –   | before: the last batch was torn, and is cut |
 * | yes | later | no  | no  | –   | corrupt: the batch before it was synced before it was written |
 *
 * Earlier batches do not count here: they were synced, and their readers verify them. */

export interface TailFacts {
  readonly headerValid: boolean
  /** Whether the last commit frame that verifies is the segment's first. */
  readonly found: 'none' | 'first' | 'later'
  readonly lastWhole: boolean
  readonly beforeWhole: boolean
  readonly previousThere: boolean
}

export type TailVerdict = 'corrupt' | 'unbegun' | 'last' | 'before'

/** The verdict of the table for these facts. */
export function tailVerdict({
  headerValid,
  found,
  lastWhole,
  beforeWhole,
  previousThere,
}: TailFacts): TailVerdict {
  if (!headerValid) return 'corrupt'
  if (found !== 'none' && lastWhole) return 'last'
  if (found === 'later') return beforeWhole ? 'before' : 'corrupt'
  return previousThere ? 'unbegun' : 'corrupt'
}
