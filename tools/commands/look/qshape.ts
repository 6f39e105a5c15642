/** `waybill qshape`: shows the age of mail by domain, in the form of Postfix's qshape. */
import { AgeTable, subdomainCountDefault, type AgeRow } from '../../../src/inspect/figures/age-table.js'
import { countAges } from '../../../src/inspect/figures/message-ages.js'
import { Messages } from '../../../src/inspect/messages/messages.js'
import { selectsLane, type MetMessage, type Selection } from '../../../src/inspect/messages/queued-message.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import { UsageError, type Arguments } from '../cli/command.js'
import type { Surroundings } from '../text/output.js'
import {
  complainOf,
  exits,
  inspectCommand,
  jsonOption,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { printable } from '../text/shown-text.js'
import { laneOf } from './listing-options.js'
import { parseCount, parseDurationOption } from '../cli/values.js'

export const qshape: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR] [--json] [-s] [-p] [-m N] [-b N] [-t TIME] [-l] [-n N] [-N N] [-w N] [LANE …]',
    operands: true,
    options: {
      ...jsonOption,
      s: {
        short: 's',
        help: 'by the domain of the sender: counts messages; default: by that of each recipient',
      },
      b: { short: 'b', value: 'N', help: 'number of buckets (10)' },
      p: { short: 'p', help: 'also by parent domain: `.example.com` is what is below it' },
      m: { short: 'm', value: 'N', help: 'parents of at least so many domains; goes with -p (5)' },
      t: { short: 't', value: 'TIME', help: 'age at which the first bucket ends, minutes, or 90s (5)' },
      l: { short: 'l', help: 'buckets of one size, instead of each twice as long as the one before' },
      n: { short: 'n', value: 'N', help: 'show so many domains (all; 20 on a terminal)' },
      N: { short: 'N', value: 'N', help: 'on a terminal, show what is known after each so many messages' },
      c: { short: 'c', value: 'DIR', help: 'the same as --queue' },
      w: { short: 'w', value: 'N', help: 'columns (80)' },
    },
    notes:
      'LANE is incoming, active, deferred, hold, or the number of a lane; without one, incoming and active are shown.\n' +
      'T is the total, each further column the mail younger than so many minutes.',
  },
  wishesOf,
  show,
)

const domainWidthMin = 18

/** A number is minutes, as in Postfix. @throws UsageError */
const firstMsOf = (text: string): number =>
  /^\d{1,7}$/.test(text) ? Number(text) * 60_000 : parseDurationOption('t', text)

interface Wishes {
  readonly wanted: readonly Selection['lane'][]
  readonly bucketCount: number
  readonly firstMs: number
  readonly shownMax: number
  readonly width: number
  readonly stepCount: number | undefined
  readonly parentsMin: number
}

/** @throws UsageError */
function wishesOf(args: Arguments, { isTerminal }: Surroundings): Wishes {
  const countOf = (option: string, otherwise: string, least: number): number =>
    parseCount(option, args.one(option) ?? otherwise, least)
  const bucketCount = countOf('b', '10', 2)
  if (bucketCount > 60) throw new UsageError('-b is at most 60')
  const firstMs = firstMsOf(args.one('t') ?? '5')
  if (firstMs <= 0) throw new UsageError('-t must be greater than 0')
  const stepCount = args.isSet('N') ? countOf('N', '', 1) : undefined
  return {
    wanted: args.rest.length > 0 ? args.rest.map(laneOf) : ['incoming', 'active'],
    bucketCount,
    firstMs,
    shownMax: args.isSet('n') ? countOf('n', '', 1) : isTerminal ? 20 : Infinity,
    width: countOf('w', '80', 1),
    stepCount: isTerminal ? stepCount : undefined,
    parentsMin: args.isSet('p') || args.isSet('m') ? countOf('m', `${subdomainCountDefault}`, 1) : 0,
  }
}

async function show(inspected: Inspected, wishes: Wishes): Promise<number> {
  const { directory, args, out, report, progress, surroundings } = inspected
  const { wanted, bucketCount, firstMs, shownMax, width, stepCount, parentsMin } = wishes
  const bySender = args.isSet('s')
  const ages = new AgeTable(bucketCount, firstMs, args.isSet('l'))
  const nowMs = surroundings.nowMs()
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const messages = new Messages(directory, snapshot, {
    report,
    lane: wanted.length === 1 ? wanted[0] : undefined,
    onProgress: (done, all) => progress.show(done, all),
  })
  const isCounted = ({ where, lane }: MetMessage): boolean =>
    wanted.some((lanes) => selectsLane(lanes, where, lane))
  const rowsNow = (): AgeRow[] => {
    const domains = parentsMin > 0 ? ages.domainsWithParents(parentsMin) : ages.domains
    return [ages.total, ...domains.slice(0, shownMax)]
  }
  let isShown = false
  const done = async (): Promise<void> => {
    isShown = true
    out.clearScreen()
    out.text(textOf(ages.heads, rowsNow(), width))
    await out.flush()
  }
  const step = stepCount === undefined ? undefined : { messageCount: stepCount, done }
  await countAges(ages, messages, { bySender, isCounted, nowMs, step }, report)
  progress.end()
  if (isShown) out.clearScreen()
  const rows = rowsNow()
  if (args.isSet('json'))
    for (const { domain, total, buckets } of rows)
      out.json({ domain, total, ages: Object.fromEntries(ages.heads.map((head, i) => [head, buckets[i]])) })
  else out.text(textOf(ages.heads, rows, width))
  await out.flush()
  complainOf(inspected)
  return exits.fine
}

/** Counts are aligned right, each column as wide as its total; a long domain is cut to
 * `+` and its end. */
function textOf(heads: readonly string[], rows: readonly AgeRow[], width: number): string {
  const total = rows[0]!
  const names = ['T', ...heads]
  const widths = [total.total, ...total.buckets].map(
    (count, i) => Math.max(2, String(count).length, names[i]!.length) + 1,
  )
  const domainWidth = Math.max(domainWidthMin, width - widths.reduce((sum, columns) => sum + columns, 0))
  const line = (domain: string, cells: readonly (string | number)[]): string => {
    const name =
      domain.length > domainWidth ? `+${domain.slice(1 - domainWidth)}` : domain.padStart(domainWidth)
    return `${name}${cells.map((cell, i) => String(cell).padStart(widths[i]!)).join('')}\n`
  }
  return (
    line('', names) +
    rows.map(({ domain, total: sum, buckets }) => line(printable(domain), [sum, ...buckets])).join('')
  )
}
