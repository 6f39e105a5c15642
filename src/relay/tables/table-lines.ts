/** Reads the lines of a table: blank lines, and those that begin with `#`, are skipped. Pure.
 * Invariant: an error names the line. */
import { WaybillError, type Place } from '../../errors.js'

/** Characters; a path may have as many. To read a line may take the square of its length: a wrong
 * file of one long line would hold up a running relay for minutes. */
const lineLengthMax = 4096

export interface TableLine {
  readonly text: string
  /** For its errors. */
  readonly place: Place
}

/** @param option that names the file @param path of the file
 * @throws WaybillError OPTION_INVALID */
export function* tableLines(text: string, option: string, path: string): Generator<TableLine> {
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const place = { option, path, line: index + 1 }
    if (line.length > lineLengthMax)
      throw new WaybillError('OPTION_INVALID', `the line is longer than ${lineLengthMax} characters`, place)
    if (!/^\s*(?:#|$)/.test(line)) yield { text: line, place }
  }
}
