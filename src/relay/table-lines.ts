/** The lines of a table in a file: blank ones and those that begin with `#` say nothing. Pure.
 * Invariant: an error names the line. */
import type { Place } from '../errors.js'

export interface TableLine {
  readonly text: string
  /** For its errors. */
  readonly place: Place
}

/** @param option that names the file @param path of the file */
export function* tableLines(text: string, option: string, path: string): Generator<TableLine> {
  for (const [index, line] of text.split(/\r?\n/).entries())
    if (!/^\s*(?:#|$)/.test(line)) yield { text: line, place: { option, path, line: index + 1 } }
}
