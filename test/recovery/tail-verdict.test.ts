/** The decision over the newest segment, walked over every combination of facts. The table is that
 * of src/recovery/tail-verdict.ts. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { tailVerdict, type TailFacts, type TailVerdict } from '../../src/recovery/tail-verdict.js'

const source = readFileSync(new URL('../../src/recovery/tail-verdict.ts', import.meta.url), 'utf8')

interface Row {
  readonly facts: readonly string[]
  readonly verdict: TailVerdict
}

/** Rows ` * | yes | later | no | – | verdict: reason |`. */
const rows: readonly Row[] = [
  ...source.matchAll(
    /^ \* \| *(yes|no) *\| *(none|first|later|–) *\| *(yes|no|–) *\| *(yes|no|–) *\| *(yes|no|–) *\| *(\w+):.*\|$/gm,
  ),
].map(([, header, found, last, before, previous, verdict]) => ({
  facts: [header!, found!, last!, before!, previous!],
  verdict: verdict as TailVerdict,
}))

const combinations: readonly TailFacts[] = [false, true].flatMap((headerValid) =>
  (['none', 'first', 'later'] as const).flatMap((found) =>
    [false, true].flatMap((lastWhole) =>
      [false, true].flatMap((beforeWhole) =>
        [false, true].map((previousThere) => ({
          headerValid,
          found,
          lastWhole,
          beforeWhole,
          previousThere,
        })),
      ),
    ),
  ),
)

const yes = (fact: boolean): string => (fact ? 'yes' : 'no')

const matches = (
  row: Row,
  { headerValid, found, lastWhole, beforeWhole, previousThere }: TailFacts,
): boolean =>
  [yes(headerValid), found, yes(lastWhole), yes(beforeWhole), yes(previousThere)].every((fact, i) =>
    ['–', fact].includes(row.facts[i]!),
  )

test.each(combinations)(
  'header valid $headerValid, found $found, last whole $lastWhole, before whole $beforeWhole, previous there $previousThere',
  (facts) => {
    const named = rows.filter((row) => matches(row, facts))
    expect(named).toHaveLength(1)
    expect(tailVerdict(facts)).toBe(named[0]!.verdict)
  },
)
