/** Writes the pages that consist of tables of the code: `npm run pages`.
 * Invariant: a page is a function of those tables alone, so that a test can hold the kept
 * page against it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { countedByEvents, notedByEvents } from '../src/adapters/event-metrics.js'
import { asked, followed, measured, type Named } from '../src/adapters/metrics.js'
import { upMetric } from '../src/adapters/prometheus.js'
import { errorCatalogue, warningCatalogue, type ErrorCode } from '../src/errors.js'
import { problemCatalogue } from '../src/http/figures/problems.js'
import { kindOf, ownKinds } from '../src/http/wire/problem-details.js'
import { relayMetrics } from './commands/serve/metrics.js'
import { storeMetrics } from './commands/store/store-metrics.js'
import { markdownTable } from './markdown-table.js'
import { saidArguments } from './said-arguments.js'

/** The text between the marks, by the page's path. */
export const generated: Readonly<Record<string, () => string>> = {
  'src/ERRORS.md': errorTables,
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

const named = (code: string): string => `\`${code}\``

/** Each with the heading that stands above it. */
function errorTables(): string {
  const errors = Object.entries(errorCatalogue).map(([code, { code: reply, enhanced, means }]) => ({
    code: named(code),
    reply: `${reply} ${enhanced}`,
    HTTP: String(kindOf(code as ErrorCode).status),
    'what happened': means,
  }))
  const ofHttp = Object.entries(ownKinds).map(([code, { status, means }]) => ({
    code: named(code),
    HTTP: String(status),
    'what happened': means,
  }))
  const warnings = Object.entries(warningCatalogue).map(([code, means]) => ({
    code: named(code),
    'what happened': means,
  }))
  const problems = Object.entries(problemCatalogue).map(([code, { severity, means }]) => ({
    code: named(code),
    severity,
    'what the console says': means,
  }))
  return [
    '## Errors of a queue',
    markdownTable(errors),
    '## Errors of the HTTP API',
    'These, and those of a queue with the status under HTTP.',
    markdownTable(ofHttp),
    '## Warnings',
    'The event `warning` has one of these codes, or one of an error.',
    markdownTable(warnings),
    '## Problems in the console',
    'The console and `GET /v1/queue` show these for as long as their cause lasts.',
    markdownTable(problems),
  ].join('\n\n')
}

function metricTable(): string {
  const all: readonly Named[] = [
    upMetric,
    ...measured,
    ...asked,
    ...followed,
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

const usage = 'usage: npm run pages\n'

function writePages(): void {
  saidArguments(usage, { options: {} })
  for (const [name, part] of Object.entries(generated)) {
    const path = join(import.meta.dirname, '..', '..', name)
    writeFileSync(path, withGenerated(readFileSync(path, 'utf8'), part()))
    process.stdout.write(`${name}\n`)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writePages()
