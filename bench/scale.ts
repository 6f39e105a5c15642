/** Queues from empty to very large beside each other: opening, memory, disk, listing, the rate of
 * workload Q, recovery after a kill.
 * The queues are made by `waybill fill` and opened in turn, each time by a new process, in orders
 * that alternate. Openings are measured with the files in the page cache and out of it. For memory
 * and rate the queue's clock is set back, so that no deferred mail is due: deliveries would disturb
 * the figures. `--to N` goes on to 10^N; 10^7 take 13 GB. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BenchArguments } from './bench.js'
import { rateOf, type Slice } from './contenders/contender.js'
import { diskBytesOf } from './files-below.js'
import { forgotten, remembered } from './disk/page-cache.js'
import { spreadOf, type Row } from './output.js'
import { timed, type Timed } from './whole-queue/commands.js'
import { fill, openedQuietly } from './scale/filled-queue.js'
import { Life } from './scale/life.js'
import type { Opened } from './scale/queue-life.js'

const execute = promisify(execFile)
const mebibyte = 1024 * 1024
const producerCount = 100

/** In which the mail of a lane becomes due, one by one. */
const longestIntervalMs = 4_000_000

/** A checkpoint covers the work of a life before it is killed; kills under load are
 * measured separately. */
const checkpointMs = 3000
/** With less mail than this, files are mostly reserve. */
const diskCountMin = 100_000

interface Pace {
  readonly exponents: readonly number[]
  readonly openings: number
  readonly slices: number
  readonly sliceMs: number
  readonly kills: number
}

const full: Pace = { exponents: [3, 4, 5, 6], openings: 7, slices: 15, sliceMs: 500, kills: 5 }
const short: Pace = { exponents: [3, 4], openings: 1, slices: 1, sliceMs: 200, kills: 1 }

/** A queue on disk, and its figures. */
interface Filled {
  readonly count: number
  readonly directory: string
  /** When its next message is due; lives move it on. */
  dueAtMs: number
  readonly diskBytes: number
  readonly warm: Opened[]
  readonly cold: Opened[]
  readonly quiet: Opened[]
  readonly slices: Slice[]
  readonly killed: Opened[]
  readonly listings: Timed[]
}

export async function run({ output, directory, smoke, to }: BenchArguments): Promise<void> {
  const pace = smoke ? short : full
  const exponents = to === undefined ? pace.exponents : range(3, to)
  const queues: Filled[] = []
  for (const count of [0, ...exponents.map((exponent) => 10 ** exponent)])
    queues.push(await filled(join(directory, `queue-${count}`), count))
  const [empty] = queues
  // The first life makes spare segments, which every later one finds.
  for (const queue of queues) await (await openedQuietly(queue)).kill()
  for (let i = 0; i < pace.openings; i++) for (const queue of inTurn(queues, i)) await measureOpening(queue)
  for (const queue of queues) queue.listings.push(await timed(['mailq'], queue.directory))
  await measureRate(queues, pace)
  for (let i = 0; i < pace.kills; i++)
    for (const queue of inTurn(queues, i)) {
      await killedUnderLoad(queue, pace.sliceMs)
      const life = await openedQuietly(queue)
      queue.killed.push(life.opened)
      await life.kill()
    }
  output.table(
    'queues of deferred messages, 1 KiB',
    queues.map((queue) => rowOf(queue, empty!)),
  )
  output.note('Times from the call of `openQueue`, in a new process; median (least–most).')
  output.note("Cold: the queue's files were out of the page cache; programs and directories were not.")
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)

const inTurn = <T>(items: readonly T[], round: number): readonly T[] =>
  round % 2 === 0 ? items : items.toReversed()

async function filled(directory: string, count: number): Promise<Filled> {
  return {
    ...(await fill(directory, count)),
    diskBytes: diskBytesOf(directory),
    warm: [],
    cold: [],
    quiet: [],
    slices: [],
    killed: [],
    listings: [],
  }
}

/** Each opening is a little later by the queue's clock than the end of the life before it, so that
 * about ten messages are due: those before were deferred again. */
async function measureOpening(queue: Filled): Promise<void> {
  const { count, directory, warm, cold } = queue
  for (const [isCold, openings] of [
    [false, warm],
    [true, cold],
  ] as const) {
    // Otherwise the first sync of this life would pay for unwritten pages of earlier ones.
    await execute('sync', ['-f', directory])
    await (isCold ? forgotten(directory) : remembered(join(directory, 'journal')))
    const startedAt = performance.now()
    const life = await Life.open({ directory, wallAtMs: queue.dueAtMs, isDue: count > 0 })
    openings.push(life.opened)
    await new Promise((resolve) => setTimeout(resolve, checkpointMs))
    await life.kill()
    if (count > 0) queue.dueAtMs += performance.now() - startedAt + (10 * longestIntervalMs) / count
  }
}

/** All queues are open, one works at a time. */
async function measureRate(queues: readonly Filled[], { slices, sliceMs }: Pace): Promise<void> {
  const lives: { queue: Filled; life: Life }[] = []
  for (const queue of queues) {
    const life = await openedQuietly(queue)
    queue.quiet.push(life.opened)
    lives.push({ queue, life })
    await life.slice(producerCount, sliceMs * 2)
  }
  for (let round = 0; round < slices; round++)
    for (const { queue, life } of inTurn(lives, round))
      queue.slices.push(await life.slice(producerCount, sliceMs))
  for (const { life } of lives) await life.kill()
}

async function killedUnderLoad(queue: Filled, loadMs: number): Promise<void> {
  const life = await openedQuietly(queue)
  life.beginLoad(producerCount, 60_000)
  await new Promise((resolve) => setTimeout(resolve, loadMs * 4))
  await life.kill()
}

function rowOf(queue: Filled, empty: Filled): Row {
  const { count, warm, cold, killed, slices, listings } = queue
  const of = <T>(figures: readonly T[], quantity: (figure: T, i: number) => number): Row[string] =>
    spreadOf(figures.map(quantity))
  const added = ({ rssBeforeBytes, rssAfterBytes }: Opened): number =>
    (rssAfterBytes - rssBeforeBytes) / mebibyte
  const isEmpty = count === 0
  return {
    deferred: count,
    'accepts after ms': of(warm, ({ acceptedMs }) => acceptedMs),
    'delivers after ms': isEmpty ? null : of(warm, ({ attemptMs }) => attemptMs!),
    'cold: accepts ms': of(cold, ({ acceptedMs }) => acceptedMs),
    'cold: delivers ms': isEmpty ? null : of(cold, ({ attemptMs }) => attemptMs!),
    'added MiB': of([...queue.quiet, ...killed], added),
    'disk bytes/message': count < diskCountMin ? null : (queue.diskBytes - empty.diskBytes) / count,
    'mailq: first ms': of(listings, ({ firstMs }) => firstMs),
    'mailq: all ms': of(listings, ({ allMs }) => allMs),
    'lives/s': of(slices, rateOf),
    'of the empty queue': of(slices, (slice, i) => rateOf(slice) / rateOf(empty.slices[i]!)),
    'recovers after kill ms': of(killed, ({ recoveredMs }) => recoveredMs),
  }
}
