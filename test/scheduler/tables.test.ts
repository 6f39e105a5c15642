import { describe, expect, test } from 'vitest'
import { compareTables } from '../../bench/tables.js'

/** Greatest difference from the document's figures. */
const tolerance = {
  1: { percent: 1, average: Infinity },
  2: { percent: 1, average: Infinity },
  3: { percent: 0.5, average: 0.05 },
}

describe("the document's measurements of limited servers are reproduced:", () => {
  test.each(compareTables().map((row) => [row.table, row.feedback, row] as const))(
    'table %d, feedback %s',
    (table, _, { ours, document }) => {
      const { percent, average } = tolerance[table]
      expect(Math.abs(ours.deferredPercent - document.deferredPercent)).toBeLessThanOrEqual(percent)
      expect(Math.abs(ours.average - document.average)).toBeLessThanOrEqual(average)
    },
  )
})
