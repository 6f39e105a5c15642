/** What the newest segments say about the end of the journal: a decision over four facts, as a table.
 *
 * | header valid | first batch counts | a commit counts behind the first byte that does not | verdict |
 * |---|---|---|---|
 * | no  | –   | –   | corrupt: a header was synced before the file got its name |
 * | yes | no  | no  | unbegun: prepared ahead, or its first batch was torn; nothing in it was settled |
 * | yes | no  | yes | corrupt: batch 2 was written only after batch 1 was synced |
 * | yes | yes | no  | tail: cut behind the last batch that counts |
 * | yes | yes | yes | corrupt: batch N+1 was written only after batch N was synced |
 *
 * "A commit counts" is: its whole batch verifies. */

export interface TailFacts {
  readonly headerValid: boolean
  readonly firstCounts: boolean
  readonly countsBehind: boolean
}

export type TailVerdict = 'corrupt' | 'unbegun' | 'tail'

export function tailVerdict({ headerValid, firstCounts, countsBehind }: TailFacts): TailVerdict {
  if (!headerValid || countsBehind) return 'corrupt'
  return firstCounts ? 'tail' : 'unbegun'
}
