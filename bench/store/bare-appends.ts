/** Synced appends to a directory and to a store, without an engine: one segment, one append in
 * flight, as the journal makes them. */
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.js'
import type { Disk, DiskFile } from '../../src/disk/disk.js'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { initStore } from '../../src/store/open-store.js'
import { PgStore } from '../../src/store/postgres/pg-store.js'
import { StoreDisk } from '../../src/store/store-disk.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import type { Servers } from '../../tools/crash-store/servers.js'
import { spreadOf, type Row } from '../output.js'

const sizes = [4096, 65_536, 262_144, 1_048_576]
const turnBytes = 8 * 2 ** 20
const turnAppendsMax = 200
const turnsDefault = 5

export async function bareAppends(servers: Servers, directory: string, isSmoke: boolean): Promise<Row[]> {
  const place = storePlaceOf(servers.url)
  await initStore(place, { name: 'bare', quotaBytes: undefined }, systemClock)
  const store = new StoreDisk({
    store: new PgStore(place, systemClock),
    queue: 'bare',
    node: 'bench',
    role: 'home',
    safety: 'required',
    ttlMs: 6000,
    resumeMs: 60_000,
  })
  await store.claim()
  await mkdir(join(directory, 'bare'))
  const local = nodeDisk(join(directory, 'bare'))
  try {
    const rows: Row[] = []
    for (const bytes of sizes) rows.push(await compared(local, store, bytes, isSmoke))
    return rows
  } finally {
    store.abandon()
    local.abandon()
  }
}

async function compared(local: Disk, store: Disk, bytes: number, isSmoke: boolean): Promise<Row> {
  const rates: Record<'local' | 'store', number[]> = { local: [], store: [] }
  const files = { local: await segmentOf(local, bytes), store: await segmentOf(store, bytes) }
  const count = isSmoke ? 2 : Math.min(turnAppendsMax, turnBytes / bytes)
  for (let turn = 0; turn < (isSmoke ? 1 : turnsDefault); turn++)
    for (const where of ['local', 'store'] as const)
      rates[where].push(await rateOf(files[where], bytes, count, turn))
  for (const file of Object.values(files)) await file.close()
  return {
    bytes,
    directory: spreadOf(rates.local),
    store: spreadOf(rates.store),
    ratio: spreadOf(rates.store.map((rate, turn) => rate / rates.local[turn]!)),
  }
}

async function segmentOf(disk: Disk, bytes: number): Promise<DiskFile> {
  await disk.makeDirectory('journal')
  await (await disk.open(`journal/${bytes}`, 'create')).close()
  return disk.open(`journal/${bytes}`, 'synced')
}

/** MiB a second. */
async function rateOf(file: DiskFile, bytes: number, count: number, turn: number): Promise<number> {
  const data = randomBytes(bytes)
  const startedAt = performance.now()
  for (let i = 0; i < count; i++) await file.write(data, (turn * count + i) * bytes)
  return (count * bytes) / 2 ** 20 / ((performance.now() - startedAt) / 1000)
}
