/** The cost of restart positions in the log and in a fixed place. In the log a start has to find
 * them; a fixed place takes a synced write each time.
 *   in the log, searched   the last batch is looked for from the end of its segment
 *   in the log, limited    the same, from the write limit on, which is written rarely
 *   in a fixed place       each checkpoint writes one block, synced; a start reads that block
 * The first two are what a start does. The third is the least that it could cost. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { constants } from 'node:fs'
import { join } from 'node:path'
import { journalFiles } from '../../src/directory/log-files.js'
import { readQueueHeader } from '../../src/directory/header.js'
import { withOwnNames } from '../../src/directory/own-names.js'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { journalDirectory } from '../../src/log/journal.js'
import { readLimits } from '../../src/log/write-limit.js'
import { findTail } from '../../src/recovery/journal-tail.js'
import { AskedProcess } from '../asked-process.js'
import type { BenchArguments } from '../bench.js'
import { spreadOf, type Row } from '../output.js'
import { forgotten, remembered } from '../disk/page-cache.js'
import type { Answer, Order } from '../layouts/life-process.js'

export const placesTitle = 'finding the restart positions of a queue that was killed, and writing them'

const full = { rounds: 7, sliceMs: 3000, writes: 200 }
const short = { rounds: 1, sliceMs: 200, writes: 5 }
const blockBytes = 4096

export async function measurePlaces({ output, directory, smoke }: BenchArguments): Promise<void> {
  const { rounds, sliceMs, writes } = smoke ? short : full
  const own = join(directory, 'places')
  mkdirSync(own)
  await killedQueue(own, sliceMs)
  const fixed = join(own, 'fixed-place')
  writeFileSync(fixed, Buffer.alloc(blockBytes), { flush: true })
  const ways: Readonly<Record<string, () => Promise<void>>> = {
    'in the log, searched': () => findEnd(own, false),
    'in the log, limited': () => findEnd(own, true),
    'in a fixed place': async () => readBlock(fixed),
  }
  const times = new Map(Object.keys(ways).map((name) => [name, { warm: [0], cold: [0] }]))
  for (const each of times.values()) {
    each.warm.length = 0
    each.cold.length = 0
  }
  for (let round = 0; round < rounds; round++)
    for (const [name, find] of Object.entries(ways))
      for (const kind of ['warm', 'cold'] as const) {
        execFileSync('sync', ['-f', own])
        await (kind === 'cold' ? forgotten(own) : remembered(own))
        const startedAt = performance.now()
        await find()
        times.get(name)![kind].push(performance.now() - startedAt)
      }
  const writeMs = spreadOf(syncedWrites(fixed, writes))
  output.table(
    placesTitle,
    [...times].map(([positions, { warm, cold }]): Row => ({
      positions,
      'warm ms': spreadOf(warm),
      'cold ms': spreadOf(cold),
      'synced writes/checkpoint': positions === 'in a fixed place' ? 1 : 0,
      'each ms': positions === 'in a fixed place' ? writeMs : null,
    })),
  )
}

async function killedQueue(directory: string, durationMs: number): Promise<void> {
  const child = new AskedProcess<Order, Answer>(new URL('../layouts/life-process.js', import.meta.url))
  await child.ask({
    kind: 'open',
    directory,
    checkpointIntervalMs: 2000,
    deferredPercent: 0,
    intervalsMs: [60_000],
  })
  await child.ask({ kind: 'slice', producerCount: 100, durationMs, delayMs: 0, ratePerSecond: Infinity })
  await child.kill()
}

/** What a start does first. */
async function findEnd(directory: string, isLimited: boolean): Promise<void> {
  const disk = withOwnNames(nodeDisk(directory))
  const header = await readQueueHeader(disk)
  if (header === undefined) throw new Error(`${directory} is no queue`)
  const files = journalFiles(disk, header)
  const limitOf = isLimited ? await readLimits(disk, journalDirectory) : undefined
  await findTail(files, await disk.list(journalDirectory), limitOf)
  disk.abandon()
}

function readBlock(path: string): void {
  const descriptor = openSync(path, 'r')
  readSync(descriptor, Buffer.alloc(blockBytes), 0, blockBytes, 0)
  closeSync(descriptor)
}

function syncedWrites(path: string, count: number): number[] {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_DSYNC)
  const block = Buffer.alloc(blockBytes, 1)
  const times = Array.from({ length: count }, () => {
    const startedAt = performance.now()
    writeSync(descriptor, block, 0, blockBytes, 0)
    return performance.now() - startedAt
  })
  closeSync(descriptor)
  return times
}
