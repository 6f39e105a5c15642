/** Workload Q for a long time: whether the log grows, latency rises or memory leaks. Slices of ten
 * seconds, one behind the other. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchArguments } from './bench.js'
import { diskBytesOf } from './files-below.js'
import { spreadOf, type Row } from './output.js'
import { treeUsage } from './process-tree.js'
import { Life } from './scale/life.js'

const producerCount = 100
const mebibyte = 1024 * 1024
const minutesDefault = 10

export async function run({ output, directory, smoke, minutes }: BenchArguments): Promise<void> {
  const sliceMs = smoke ? 1000 : 10_000
  const totalMs = smoke ? 4000 : (minutes ?? minutesDefault) * 60_000
  const own = join(directory, 'queue')
  mkdirSync(own)
  const life = await Life.open({ directory: own, wallAtMs: Date.now(), isDue: false })
  const rows: Row[] = []
  const startedAt = performance.now()
  while (performance.now() - startedAt < totalMs) {
    const { messageCount, durationMs, p50Ms, p99Ms } = await life.slice(producerCount, sliceMs)
    rows.push({
      minute: (performance.now() - startedAt) / 60_000,
      'lives/s': (messageCount / durationMs) * 1000,
      'p50 ms': p50Ms,
      'p99 ms': p99Ms,
      'RSS MiB': treeUsage(life.processId).rssBytes / mebibyte,
      'disk MiB': diskBytesOf(own) / mebibyte,
    })
  }
  await life.kill()
  output.table('full rate, slice by slice', rows)
  const quarter = Math.max(1, rows.length >> 2)
  output.table('medians of the first and the last quarter', [
    quarterOf('first', rows.slice(0, quarter)),
    quarterOf('last', rows.slice(-quarter)),
  ])
}

function quarterOf(name: string, rows: readonly Row[]): Row {
  const names = ['lives/s', 'p99 ms', 'RSS MiB', 'disk MiB']
  const medians = names.map((quantity) => [quantity, spreadOf(rows.map((row) => Number(row[quantity])))])
  return { quarter: name, ...(Object.fromEntries(medians) as Row) }
}
