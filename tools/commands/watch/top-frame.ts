/** Draws a frame of `waybill top` from two samples. Pure.
 * Invariant: a frame has at most `rows` lines of at most `columns` characters, and text from a
 * remote site cannot leave its line. */
import type { Sample, ToldProblem, WatchedDestination } from '../../../src/control/protocol.js'
import { countText, digitsText } from '../../../src/base/text.js'
import type { LaneStatistics } from '../../../src/index.js'
import { problemsOf } from '../../../src/http/figures/problems.js'
import { noStrain, type Strain } from '../../../src/http/figures/strain-watch.js'
import { queueNameOf } from '../../../src/lane/lane.js'
import { reasonText, stateText } from './destinations.js'
import type { LaneCounts } from './lane-counts.js'
import { bytesText, durationText, printable, shortTime, table, type Cell } from '../text/shown-text.js'

export interface TopView {
  /** Its path. */
  readonly queue: string
  readonly now: Sample
  /** Of the same life; undefined: there are no rates yet. */
  readonly before: Sample | undefined
  readonly counts: LaneCounts | undefined
  /** What lasts since several samples. Default: not known. */
  readonly strain?: Strain
}

export type LineStyle = 'title' | 'plain' | 'head' | 'trouble'

export interface FrameLine {
  readonly text: string
  readonly style: LineStyle
}

/** Infinity: as much as there is. */
export interface FrameSize {
  readonly columns: number
  readonly rows: number
}

/** Where the time ends, on a wide terminal. */
const titleColumns = 100

export function topFrame(view: TopView, { columns, rows }: FrameSize): FrameLine[] {
  const { queue, now } = view
  const time = shortTime(now.wallMs)
  const title = `waybill top  ${printable(queue)}`
  const lines: FrameLine[] = [
    { text: `${title.padEnd(Math.min(columns, titleColumns) - time.length - 1)} ${time}`, style: 'title' },
    ...verdictOf(view),
    ...trafficOf(view),
    ...relayOf(view),
    ...lanesOf(view),
    ...destinationsOf(view),
  ]
  return lines.slice(0, rows).map(({ text, style }) => ({ text: clipped(text, columns), style }))
}

const clipped = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`

/** Samples of one life follow one another; of another one, counts begin anew. */
export const isSameLife = (before: Sample, now: Sample): boolean =>
  now.atMs > before.atMs &&
  now.acceptedCount >= before.acceptedCount &&
  now.deliveredCount >= before.deliveredCount &&
  now.statistics.journal.syncCount >= before.statistics.journal.syncCount

/** Events a second between two samples. */
export function perSecond(
  { now, before }: Pick<TopView, 'now' | 'before'>,
  count: (of: Sample) => number,
): number | undefined {
  if (before === undefined) return undefined
  return ((count(now) - count(before)) * 1000) / (now.atMs - before.atMs)
}

/** Mean length of the syncs between two samples, milliseconds; undefined: there was none. */
export function syncMeanMs({ now, before }: Pick<TopView, 'now' | 'before'>): number | undefined {
  if (before === undefined) return undefined
  const { syncCount, syncTotalMs } = now.statistics.journal
  const count = syncCount - before.statistics.journal.syncCount
  return count <= 0 ? undefined : (syncTotalMs - before.statistics.journal.syncTotalMs) / count
}

function verdictOf(view: TopView): FrameLine[] {
  const problems = problemsIn(view)
  if (problems.length === 0) return [{ text: 'All is well', style: 'plain' }]
  return problems.map(({ text }): FrameLine => ({ text: printable(text), style: 'trouble' }))
}

/** As the console says them. A program that does not say what it has watched is judged by the
 * sample. */
export function problemsIn({
  now,
  strain = noStrain,
}: Pick<TopView, 'now' | 'strain'>): readonly ToldProblem[] {
  const { problems, statistics, destinations, room, wallMs } = now
  return (
    problems ??
    problemsOf({ statistics: { ...statistics, destinations }, strain, room, facts: {}, warnings: [], wallMs })
  )
}

const numberText = (value: number): string => {
  const [whole = '', fraction] = value.toFixed(value < 100 ? 1 : 0).split('.')
  const grouped = digitsText(Number(whole))
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

const rateText = (rate: number | undefined): string => (rate === undefined ? '–' : `${numberText(rate)}/s`)
const msText = (ms: number | undefined): string => (ms === undefined ? '–' : `${ms.toFixed(2)} ms`)

function trafficOf(view: TopView): FrameLine[] {
  const rates: [string, (of: Sample) => number][] = [
    ['accepted', (of) => of.acceptedCount],
    ['delivered', (of) => of.deliveredCount],
    ['deferred', (of) => of.deferredCount],
    ['failed', (of) => of.failedCount],
  ]
  const cells = rates.map(([name, count]) => `${name} ${rateText(perSecond(view, count)).padStart(8)}`)
  return [{ text: cells.join('   '), style: 'plain' }]
}

const plainLine = (...parts: readonly string[]): FrameLine => ({ text: parts.join('   '), style: 'plain' })

function relayOf(view: TopView): FrameLine[] {
  const { statistics, room } = view.now
  const { journal, activeCount, activeCountMax } = statistics
  const written = perSecond(view, (of) => of.statistics.journal.writtenBytes)
  const syncs = perSecond(view, (of) => of.statistics.journal.syncCount)
  return [
    plainLine(
      `sync latency ${msText(syncMeanMs(view))}, ${rateText(syncs)}, last ${msText(journal.syncLastMs)}`,
      `active ${digitsText(activeCount)} of ${digitsText(activeCountMax)}`,
    ),
    plainLine(
      `free disk ${room === undefined ? '–' : bytesText(room.freeBytes)}`,
      `a start would read ${bytesText(journal.suffixBytes)}`,
      `journal ${countText(journal.segmentCount, 'segment')}, ${journal.spareCount} spare`,
    ),
    plainLine(
      `written ${written === undefined ? '–' : `${bytesText(Math.round(written))}/s`}`,
      `not yet durable ${bytesText(journal.stagedBytes)}`,
      `checkpoints ${journal.checkpointCount}`,
    ),
  ]
}

function lanesOf({ now, counts }: TopView): FrameLine[] {
  const rows = [...now.statistics.lanes].sort(byInterval).map((lane): Cell[] => {
    const known =
      counts === undefined ? undefined : (counts.byLane.get(lane.lane) ?? { count: 0, dataBytes: 0 })
    return [
      laneTitle(lane),
      String(lane.lane),
      dueText(lane, now.wallMs),
      known === undefined ? '–' : known.count,
      known === undefined ? '–' : bytesText(known.dataBytes),
      lane.waitingBytes === 0 ? '0' : bytesText(lane.waitingBytes),
      lane.markCount,
    ]
  })
  const [head = '', ...body] = toRight(
    ['queue', 'lane', 'next due', 'messages', 'data', 'waiting', 'marks'],
    ['next due', 'messages', 'data', 'waiting'],
    rows,
  )
  const counted =
    counts === undefined ? 'counting …' : `counted ${durationText(now.wallMs - counts.atMs)} ago`
  return [
    ...captioned(`lanes, ${counted}`),
    { text: head, style: 'head' },
    ...body.map((text): FrameLine => ({ text, style: 'plain' })),
  ]
}

/** `deferred, 5m` */
const laneTitle = ({ kind, intervalMs }: LaneStatistics): string =>
  kind === 'retry' ? `${queueNameOf(kind)}, ${durationText(intervalMs)}` : queueNameOf(kind)

function dueText({ nextDueAt, waitingBytes }: LaneStatistics, wallMs: number): string {
  if (nextDueAt === undefined || waitingBytes === 0) return '–'
  return nextDueAt - wallMs < 1000 ? 'now' : `in ${durationText(nextDueAt - wallMs)}`
}

/** Lines of a table in which texts of the named columns stand to the right, like numbers. */
function toRight(heads: readonly string[], columns: readonly string[], rows: readonly Cell[][]): string[] {
  const widths = heads.map((head, i) =>
    Math.max(head.length, ...rows.map((row) => (typeof row[i] === 'string' ? row[i].length : 0))),
  )
  const padded = rows.map((row) =>
    row.map((cell, i) =>
      typeof cell === 'string' && columns.includes(heads[i]!) ? cell.padStart(widths[i]!) : cell,
    ),
  )
  const padHead = (head: string, i: number): string =>
    columns.includes(head) ? head.padStart(widths[i]!) : head
  return table(heads.map(padHead), padded).split('\n')
}

const captioned = (text: string): FrameLine[] => [
  { text: '', style: 'plain' },
  { text, style: 'plain' },
]

const byInterval = (a: LaneStatistics, b: LaneStatistics): number =>
  a.intervalMs === b.intervalMs ? a.lane - b.lane : a.intervalMs - b.intervalMs

interface Paced {
  readonly destination: WatchedDestination
  readonly rate: number | undefined
  /** Milliseconds until all waiting mail is delivered at this rate; Infinity: never. */
  readonly remainingMs: number | undefined
}

/** The slowest first: destinations with waiting mail and no deliveries, then by remaining time. */
export function slowest({ now, before }: Pick<TopView, 'now' | 'before'>): Paced[] {
  const earlier = new Map(before?.destinations.map((one) => [keyOf(one), one.deliveredCount]))
  const seconds = before === undefined ? undefined : (now.atMs - before.atMs) / 1000
  return now.destinations
    .map((destination): Paced => {
      if (seconds === undefined) return { destination, rate: undefined, remainingMs: undefined }
      const rate = (destination.deliveredCount - (earlier.get(keyOf(destination)) ?? 0)) / seconds
      const left = destination.todo + destination.busy
      return { destination, rate, remainingMs: left === 0 ? 0 : (left * 1000) / rate }
    })
    .sort(
      (a, b) =>
        Number(a.destination.state.kind === 'ready') - Number(b.destination.state.kind === 'ready') ||
        compare(b.remainingMs ?? 0, a.remainingMs ?? 0) ||
        b.destination.todo + b.destination.busy - (a.destination.todo + a.destination.busy),
    )
}

const remainingText = (remainingMs: number | undefined): string =>
  remainingMs === undefined || remainingMs === Infinity
    ? '–'
    : remainingMs === 0
      ? ''
      : durationText(remainingMs)

const compare = (a: number, b: number): number => (a === b ? 0 : a - b)
const keyOf = ({ transport, name }: WatchedDestination): string => `${transport} ${name}`

function destinationsOf(view: TopView): FrameLine[] {
  const found = slowest(view)
  const { destinationCount, wallMs } = view.now
  if (found.length === 0) return captioned('no destinations')
  const [head = '', ...body] = toRight(
    ['destination', 'state', 'waiting', 'in flight', 'delivered', 'done in', 'reason'],
    ['in flight', 'delivered', 'done in'],
    found.map(({ destination, rate, remainingMs }): Cell[] => [
      printable(destination.name),
      stateText(destination, wallMs),
      destination.todo,
      `${destination.busy} of ${destination.window}`,
      rateText(rate),
      remainingText(remainingMs),
      reasonText(destination),
    ]),
  )
  const more = destinationCount - found.length
  return [
    ...captioned(`destinations, ${destinationCount}, the slowest first`),
    { text: head, style: 'head' },
    ...body.map((text, i): FrameLine => {
      const isReady = found[i]?.destination.state.kind === 'ready'
      return { text, style: isReady ? 'plain' : 'trouble' }
    }),
    ...(more > 0 ? [{ text: `and ${more} more`, style: 'plain' } as const] : []),
  ]
}
