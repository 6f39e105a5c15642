/** The parts of a turn of group commit, in the engine and in rawlog.
 * A turn is a write, from its call until its answer arrives in the event loop, and the loop's work
 * until the next write. A faster disk does not shorten the second. Work beside a write costs, too,
 * if the system wakes the writing thread on the loop's processor: `rawlog, as busy` spins beside
 * its writes as long as the engine works beside its own.
 * All are in this process, one at a time; `fs.write` is wrapped, which adds the same to all. */
import fs from 'node:fs'
import { join } from 'node:path'
import type { BenchArguments } from './bench.js'
import { contenders } from './contenders/by-name.js'
import type { Contender } from './contenders/contender.js'
import { spreadOf, type Row } from './output.js'

/** Writes of this length make segments to come. */
const fillBytes = 1024 * 1024

interface Turns {
  readonly writesMs: number[]
  readonly betweenMs: number[]
  /** The loop's work during a write. */
  readonly besideMs: number[]
}

interface Measured {
  readonly name: string
  readonly contender: Contender
  /** The loop spins for so long beside each write. */
  readonly spinMs: number
  readonly rows: Row[]
}

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const rounds = smoke ? 1 : 9
  const sliceMs = smoke ? 100 : 1000
  for (const producers of smoke ? [10] : [1, 10, 100]) {
    const opened = async (name: 'rawlog' | 'engine'): Promise<Contender> => {
      const own = join(directory, `${name}-${producers}`)
      fs.mkdirSync(own)
      const contender = await contenders[name]({
        directory: own,
        messageBytes: 1024,
        recipientCount: 1,
        workload: 'Q',
        domainCount: 500,
        deferredOneIn: 0,
        backlogCount: 0,
      })
      await contender.slice(producers, 2 * sliceMs)
      return contender
    }
    const rawlog = await opened('rawlog')
    const engine = await opened('engine')
    const besideMs = async (contender: Contender): Promise<number> =>
      Number((await turn(contender, producers, 2 * sliceMs))['beside µs']) / 1000
    const spinMs = Math.max(0, (await besideMs(engine)) - (await besideMs(rawlog)))
    const measured: Measured[] = [
      { name: 'rawlog', contender: rawlog, spinMs: 0, rows: [] },
      { name: 'rawlog, as busy', contender: rawlog, spinMs, rows: [] },
      { name: 'engine', contender: engine, spinMs: 0, rows: [] },
    ]
    for (let round = 0; round < rounds; round++)
      for (const { contender, rows, spinMs: ms } of round % 2 === 0 ? measured : measured.toReversed())
        rows.push(await turn(contender, producers, sliceMs, ms))
    output.table(
      `${producers} producers, 1 KiB`,
      measured.map(({ name, rows }) => summed(name, producers, rows)),
    )
    for (const contender of [rawlog, engine]) await contender.close()
  }
  output.note('Medians over rounds of the medians over turns, microseconds.')
}

async function turn(contender: Contender, producers: number, sliceMs: number, spinMs = 0): Promise<Row> {
  const idleBefore = performance.eventLoopUtilization()
  const turns: Turns = { writesMs: [], betweenMs: [], besideMs: [] }
  const unwrap = wrapped(turns, spinMs)
  const { messageCount, durationMs } = await contender.slice(producers, sliceMs)
  unwrap()
  return {
    'messages/s': (messageCount / durationMs) * 1000,
    'write µs': spreadOf(turns.writesMs).median * 1000,
    'beside µs': spreadOf(turns.besideMs).median * 1000,
    'between µs': spreadOf(turns.betweenMs).median * 1000,
    'loop busy': performance.eventLoopUtilization(idleBefore).utilization,
  }
}

function wrapped({ writesMs, betweenMs, besideMs }: Turns, spinMs: number): () => void {
  const original = fs.write as (...args: unknown[]) => void
  let underWay = 0
  let answeredAt: number | undefined
  const write = (...args: unknown[]): void => {
    const startedAt = performance.now()
    const answer = args.at(-1) as (...results: unknown[]) => void
    if (Number(args[3]) === fillBytes) return original(...args)
    if (answeredAt !== undefined && underWay === 0) betweenMs.push(startedAt - answeredAt)
    underWay++
    const activeBefore = activeMs()
    if (spinMs > 0) setImmediate(spin, spinMs)
    original(...args.slice(0, -1), (...results: unknown[]) => {
      underWay--
      answeredAt = performance.now()
      besideMs.push(activeMs() - activeBefore)
      writesMs.push(answeredAt - startedAt)
      answer(...results)
    })
  }
  fs.write = write as typeof fs.write
  return () => {
    fs.write = original as typeof fs.write
  }
}

/** The loop's work so far. */
const activeMs = (): number => performance.eventLoopUtilization().active

function spin(durationMs: number): void {
  const end = performance.now() + durationMs
  while (performance.now() < end);
}

function summed(name: string, producers: number, rows: readonly Row[]): Row {
  const of = (quantity: string): Row[string] => spreadOf(rows.map((row) => Number(row[quantity])))
  return {
    contender: name,
    producers,
    ...Object.fromEntries(Object.keys(rows[0]!).map((quantity) => [quantity, of(quantity)])),
    'between µs/message': spreadOf(rows.map((row) => Number(row['between µs']) / producers)),
  }
}
