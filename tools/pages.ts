/** Writes the pages that consist of tables of the code: `npm run pages`.
 * Invariant: a page is a function of those tables alone, so that a test can hold the kept
 * page against it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { countedByEvents, notedByEvents } from '../src/adapters/event-metrics.js'
import { asked, measured, type Named } from '../src/adapters/metrics.js'
import { upMetric } from '../src/adapters/prometheus.js'
import { errorCatalogue } from '../src/errors.js'
import { relayMetrics } from './commands/serve/metrics.js'
import { storeMetrics } from './commands/store/store-metrics.js'
import { markdownTable } from './markdown-table.js'

/** The text between the marks, by the page's path. */
export const generated: Readonly<Record<string, () => string>> = {
  'src/ERRORS.md': errorTable,
  'src/adapters/METRICS.md': metricTable,
}

const beginMark = '<!-- generated: begin -->'
const endMark = '<!-- generated: end -->'

/** @returns the page with the generated part between its marks
 * @throws Error when the page has no marks */
export function withGenerated(page: string, part: string): string {
  const begin = page.indexOf(beginMark)
  const end = page.indexOf(endMark)
  if (begin < 0 || end < begin) throw new Error('the page has no place for what is generated')
  return `${page.slice(0, begin + beginMark.length)}\n\n${part}\n\n${page.slice(end)}`
}

function errorTable(): string {
  const rows = Object.entries(errorCatalogue).map(([code, { code: reply, enhanced, means }]) => ({
    code: `\`${code}\``,
    reply: `${reply} ${enhanced}`,
    'what happened': means,
  }))
  return markdownTable(rows)
}

function metricTable(): string {
  const all: readonly Named[] = [
    upMetric,
    ...measured,
    ...asked,
    ...countedByEvents,
    ...notedByEvents,
    ...relayMetrics,
    ...storeMetrics,
  ]
  const byName = new Map(all.map((metric) => [metric.name, metric]))
  const rows = [...byName.values()].map(({ name, help, labelNames = [] }) => ({
    metric: `\`${name}\``,
    labels: labelNames.map((label) => `\`${label}\``).join(', '),
    meaning: help,
  }))
  return markdownTable(rows)
}

function writePages(): void {
  for (const [name, part] of Object.entries(generated)) {
    const path = join(import.meta.dirname, '..', '..', name)
    writeFileSync(path, withGenerated(readFileSync(path, 'utf8'), part()))
    process.stdout.write(`${name}\n`)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writePages()
