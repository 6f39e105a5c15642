/** The decision over the newest segment, walked over every combination of facts. The table is that of src/recovery/tail.ts. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { tailVerdict, type TailFacts, type TailVerdict } from '../../src/recovery/tail.js'

const source = readFileSync(new URL('../../src/recovery/tail.ts', import.meta.url), 'utf8')

interface Row {
  readonly facts: readonly string[]
  readonly verdict: TailVerdict
}

/** Rows ` * | yes | no | – | verdict: reason |`. */
const rows: readonly Row[] = [
  ...source.matchAll(/^ \* \| *(yes|no) *\| *(yes|no|–) *\| *(yes|no|–) *\| *(\w+):.*\|$/gm),
].map(([, header, first, behind, verdict]) => ({
  facts: [header!, first!, behind!],
  verdict: verdict as TailVerdict,
}))

const combinations: readonly TailFacts[] = [false, true].flatMap((headerValid) =>
  [false, true].flatMap((firstCounts) =>
    [false, true].map((countsBehind) => ({ headerValid, firstCounts, countsBehind })),
  ),
)

const matches = (row: Row, { headerValid, firstCounts, countsBehind }: TailFacts): boolean =>
  [headerValid, firstCounts, countsBehind].every((fact, i) =>
    ['–', fact ? 'yes' : 'no'].includes(row.facts[i]!),
  )

test.each(combinations)(
  'header valid $headerValid, first counts $firstCounts, one behind counts $countsBehind',
  (facts) => {
    const named = rows.filter((row) => matches(row, facts))
    expect(named).toHaveLength(1)
    expect(tailVerdict(facts)).toBe(named[0]!.verdict)
  },
)
