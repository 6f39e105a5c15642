/** Results as they are kept: rows of one run, those about the machine and the load
 * among them. Pure. */
import type { Cell, Row, Spread } from './output.js'
import { shownNumber } from './plot/scales.js'

/** The tables of a run by title, in the order in which they were measured. */
export type Tables = ReadonlyMap<string, readonly Row[]>

export function tablesOf(rows: readonly Row[]): Tables {
  const tables = new Map<string, Row[]>()
  for (const row of rows) {
    const title = cellText(row['title'])
    if (title === 'machine' || title === 'load') continue
    tables.set(title, [...(tables.get(title) ?? []), row])
  }
  return tables
}

/** A word or a number; nothing for a measurement. */
export const cellText = (cell: Cell | undefined): string =>
  cell === undefined || typeof cell === 'object' ? '' : String(cell)

/** @throws TypeError: that is no measurement */
export function spreadIn(row: Row, name: string): Spread {
  const cell = row[name]
  if (typeof cell !== 'object' || cell === null) throw new TypeError(`'${name}' is not a measurement`)
  return cell
}

/** NaN where nothing was measured. */
export const medianOf = (cell: Cell | undefined): number =>
  typeof cell === 'object' && cell !== null ? cell.median : Number(cell ?? NaN)

/** A measurement's median, as a page shows it. */
export const shown = (cell: Cell | undefined): string =>
  cell === undefined || cell === null ? '–' : shownNumber(medianOf(cell))
