import { describe, expect, test } from 'vitest'
import { compareTables } from '../../bench/tables.js'

/** Greatest difference from the document's figures. */
const tolerance = {
  1: { percent: { no: 1, yes: 1.2 }, average: Infinity },
  2: { percent: { no: 1, yes: 0.4 }, average: Infinity },
  3: { percent: { no: 0.5, yes: 0.5 }, average: 0.05 },
}

describe("the document's measurements of limited servers are reproduced:", () => {
  test.each(compareTables().map((row) => [row.table, row.feedback, row.caching, row] as const))(
    'table %d, feedback %s, caching %s',
    (table, _, caching, { ours, document }) => {
      const { percent, average } = tolerance[table]
      expect(Math.abs(ours.deferredPercent - document.deferredPercent)).toBeLessThanOrEqual(percent[caching])
      expect(Math.abs(ours.average - document.average)).toBeLessThanOrEqual(average)
    },
  )
})
