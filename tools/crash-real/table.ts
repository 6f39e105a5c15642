/** Results for people: a table, violations, one line that sums up. */
import type { CaseResult } from './session.js'

export interface Summary {
  readonly cases: number
  readonly skipped: number
  readonly crashes: number
  readonly lives: number
  readonly settled: number
  readonly delivered: number
  readonly duplicates: number
  readonly allowance: number
  readonly violations: number
  readonly seconds: number
}

export function summaryOf(results: readonly CaseResult[], seconds: number): Summary {
  const sum = (of: (result: CaseResult) => number | undefined): number =>
    results.reduce((total, result) => total + (of(result) ?? 0), 0)
  return {
    cases: results.length,
    skipped: results.filter(({ skipped }) => skipped !== undefined).length,
    crashes: sum(({ cycles }) => cycles),
    lives: sum(({ counts }) => counts?.lives),
    settled: sum(({ counts }) => counts?.settled),
    delivered: sum(({ counts }) => counts?.delivered),
    duplicates: sum(({ counts }) => counts?.duplicates),
    allowance: sum(({ counts }) => counts?.allowance),
    violations: sum(({ violations }) => violations.length),
    seconds: Math.round(seconds),
  }
}

const heads = [
  'part',
  'case',
  'crashes',
  'settled',
  'rejected',
  'delivered',
  'twice',
  'allowed',
  'reports',
  'wrong',
  '',
] as const
const textColumns = [0, 1, heads.length - 1]

export function tableOf(results: readonly CaseResult[]): string {
  const rows = [heads, ...results.map(rowOf)]
  const widths = heads.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  return rows
    .map((row) =>
      row
        .map((cell, i) => (textColumns.includes(i) ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function rowOf({ part, name, skipped, cycles, counts, violations, notes }: CaseResult): readonly string[] {
  if (skipped !== undefined || counts === undefined)
    return [part, name, ...Array<string>(8).fill('–'), `skipped: ${skipped}`]
  const { settled, rejected, delivered, duplicates, allowance, reports } = counts
  const numbers = [cycles, settled, rejected, delivered, duplicates, allowance, reports, violations.length]
  return [part, name, ...numbers.map(String), notes]
}

/** Violations shown for each case; the rest is counted. */
const wrongsShown = 20

export function wrongsOf(results: readonly CaseResult[]): string {
  return results
    .flatMap(({ part, name, violations }) =>
      violations.slice(0, wrongsShown).map(({ kind, what }) => `${part} ${name}: ${kind}: ${what}\n`),
    )
    .join('')
}
