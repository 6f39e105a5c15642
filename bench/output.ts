/** Rows of results, as a table for people or one JSON object a line for programs: the same
 * rows either way. */

export type Cell = string | number | boolean | null | Spread
export type Row = Readonly<Record<string, Cell>>

/** A quantity measured several times. */
export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
  /** Measurements. */
  readonly count: number
}

/** @param values at least one */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length >> 1
  const upper = sorted[half]
  if (upper === undefined) throw new RangeError('a median needs a measurement')
  const median = sorted.length % 2 === 1 ? upper : (sorted[half - 1]! + upper) / 2
  return { median, least: sorted[0]!, most: sorted[sorted.length - 1]!, count: sorted.length }
}

export class Output {
  readonly #json: boolean
  readonly #write: (line: string) => void

  constructor(json: boolean, write: (line: string) => void = (line) => console.log(line)) {
    this.#json = json
    this.#write = write
  }

  /** @param title common to the rows; `title` of each JSON object */
  table(title: string, rows: readonly Row[]): void {
    if (this.#json) for (const row of rows) this.#write(JSON.stringify({ title, ...row }))
    else {
      this.#write(`\n${title}`)
      for (const line of textTable(rows)) this.#write(line)
    }
  }

  /** One row, a line for each cell. */
  facts(title: string, row: Row): void {
    if (this.#json) return this.table(title, [row])
    const width = Math.max(...Object.keys(row).map((name) => name.length))
    for (const [name, cell] of Object.entries(row)) this.#write(`${name.padEnd(width)}  ${textOf(cell)}`)
  }

  /** A sentence for people. */
  note(text: string): void {
    if (!this.#json) this.#write(text)
  }
}

function textTable(rows: readonly Row[]): string[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cells = [names, ...rows.map((row) => names.map((name) => textOf(row[name])))]
  const widths = names.map((_, i) => Math.max(...cells.map((line) => line[i]!.length)))
  const isText = names.map((name) => rows.every((row) => typeof row[name] === 'string'))
  return cells.map((line) =>
    line.map((cell, i) => (isText[i] ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  )
}

function textOf(cell: Cell | undefined): string {
  if (cell === undefined || cell === null) return '–'
  if (typeof cell === 'number') return shown(cell)
  if (typeof cell === 'object') return `${shown(cell.median)} (${shown(cell.least)}–${shown(cell.most)})`
  return String(cell)
}

/** Three significant digits below 1000, whole numbers above. */
function shown(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return String(Math.round(value))
  return String(Number(value.toPrecision(3)))
}
