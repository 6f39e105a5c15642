/** Rows as aligned text: words to the left, numbers to the right. Pure. */
import { digitsText } from '../../../src/base/count-text.js'

export type Cell = string | number

/** @param heads names of the columns */
export function table(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) => row.map(cellText))
  const widths = heads.map((head, column) =>
    cells.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), head.length),
  )
  const isNumber = heads.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'),
  )
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        isNumber[column] === true ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd()
  return [line(heads), ...cells.map(line)].join('\n')
}

const cellText = (cell: Cell): string => (typeof cell === 'number' ? digitsText(cell) : cell)
