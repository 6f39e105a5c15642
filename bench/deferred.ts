/** A queue with many deferred messages opens like one with few: in time and in memory. Each opening
 * is a separate process, the two queues in turn. They are filled through the engine, by a transport
 * that defers everything, and crashed. The files are in the page cache when they are opened. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { BenchArguments } from './bench.js'
import type { Opened } from './deferred-child.js'
import { spreadOf, type Row } from './output.js'

const counts = [100, 100_000]
const rounds = 11
const mebibyte = 1024 * 1024

const childPath = fileURLToPath(new URL('./deferred-child.js', import.meta.url))

async function child(...args: string[]): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', childPath, ...args])
  return JSON.parse(stdout)
}

export async function run({ output, directory }: BenchArguments): Promise<void> {
  const opened = new Map<number, Opened[]>()
  for (const count of counts) {
    await child('fill', queueOf(directory, count), String(count))
    opened.set(count, [])
  }
  for (let round = 0; round < rounds; round++)
    for (const count of round % 2 === 0 ? counts : counts.toReversed())
      opened.get(count)!.push((await child('open', queueOf(directory, count))) as Opened)
  const rows = counts.map((count) => rowOf(count, opened.get(count)!))
  output.table('opening a queue whose messages wait in a lane', rows)
  output.note('Times from the call of openQueue. MiB: resident memory that the open queue added.')
}

const queueOf = (directory: string, count: number): string => join(directory, `deferred-${count}`)

function rowOf(deferred: number, opened: readonly Opened[]): Row {
  const of = (quantity: (figures: Opened) => number): ReturnType<typeof spreadOf> =>
    spreadOf(opened.map(quantity))
  return {
    deferred,
    'open ms': of(({ openMs }) => openMs),
    'submit settled ms': of(({ acceptedMs }) => acceptedMs),
    'recovered ms': of(({ recoveredMs }) => recoveredMs),
    'added MiB': of(({ rssBeforeBytes, rssAfterBytes }) => (rssAfterBytes - rssBeforeBytes) / mebibyte),
    'RSS MiB': of(({ rssAfterBytes }) => rssAfterBytes / mebibyte),
    'heap MiB': of(({ heapAfterBytes }) => heapAfterBytes / mebibyte),
    'waiting bytes': of(({ waitingBytes }) => waitingBytes),
  }
}
