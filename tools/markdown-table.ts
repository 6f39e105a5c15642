/** A table of a page, as prettier would write it. Cells have no `|`. Pure. */
export function markdownTable(rows: readonly Readonly<Record<string, string>>[]): string {
  const names = Object.keys(rows[0] ?? {})
  const widths = names.map((name) => Math.max(3, name.length, ...rows.map((row) => row[name]!.length)))
  const lineOf = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  return [
    lineOf(names),
    lineOf(widths.map((width) => '-'.repeat(width))),
    ...rows.map((row) => lineOf(names.map((name) => row[name]!))),
  ].join('\n')
}
