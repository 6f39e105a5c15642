/** Verbs for tests of the log on a simulated disk: a journal that is written, crashed
 * and found again. */
import { nowhere, type Position } from '../../src/base/position.js'
import { seededPrng } from '../../src/base/prng.js'
import type { Disk } from '../../src/disk/disk.js'
import { JournalReader } from '../../src/log/journal-reader.js'
import { journalLog, JournalWriter } from '../../src/log/journal-writer.js'
import { SegmentFiles } from '../../src/log/segment-files.js'
import { SegmentPool } from '../../src/log/segment-pool.js'
import { SegmentGrid } from '../../src/log/segment.js'
import { readLimits, WriteLimit } from '../../src/log/write-limit.js'
import { findTail, type JournalTail } from '../../src/recovery/journal-tail.js'
import { frameBytes, kindAt, kinds, payloadAt } from '../../src/record/frame.js'
import type { DiskImage } from '../../src/sim/disk/disk-image.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'

export const segmentBytes: number = 8 * 4096
export const grid: SegmentGrid = new SegmentGrid(segmentBytes)

export const journalFiles = (disk: Disk): SegmentFiles =>
  new SegmentFiles(disk, 'journal', journalLog, 'journal', grid)

export const journalPool = (
  disk: Disk,
  onChange: () => void = () => undefined,
  bytes: number = segmentBytes,
): SegmentPool =>
  new SegmentPool({
    disk,
    directory: 'journal',
    log: journalLog,
    segmentBytes: bytes,
    life: 1,
    spareCountMax: 4,
    onChange,
  })

export interface OpenWriter {
  readonly writer: JournalWriter
  readonly pool: SegmentPool
  readonly failures: unknown[]
  readonly durable: Position[]
  /** Appends one group of one frame. Returns its end. */
  readonly append: (payload: Buffer) => Position
}

/** A journal that goes on behind a tail, or begins. */
export async function openWriter(
  world: SimWorld,
  disk: Disk,
  tail: Pick<JournalTail, 'index' | 'end' | 'unbegun'> = { index: -1, end: nowhere, unbegun: [] },
): Promise<OpenWriter> {
  const failures: unknown[] = []
  const durable: Position[] = []
  const pool = journalPool(disk)
  await pool.adopt(await disk.list('journal'), tail.unbegun)
  const place = { disk, clock: world.clock, directory: 'journal', segmentBytes }
  const writer = new JournalWriter({
    limit: await WriteLimit.open(place),
    clock: world.clock,
    prng: seededPrng(world.seed),
    grid,
    pool,
    batchBytes: segmentBytes / 4,
    index: tail.index + 1,
    previousEnd: tail.end,
    onDurable: (end) => durable.push(end),
    onPrepared: () => undefined,
    onSegment: () => undefined,
    onFailure: (error) => {
      failures.push(error)
      writer.fail(error)
    },
  })
  const append = (payload: Buffer): Position => {
    writer.open(frameBytes(payload.length))
    writer.append(kinds.data, 0, world.clock.wallMs(), payload)
    return writer.end
  }
  return { writer, pool, failures, durable, append }
}

/** What a start finds in an image: the tail, and every payload before it, in order. */
export async function findPayloads(image: DiskImage): Promise<{ tail: JournalTail; payloads: string[] }> {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  const disk = new SimDisk(world, { image })
  return world.settle(readAll(disk))
}

async function readAll(disk: Disk): Promise<{ tail: JournalTail; payloads: string[] }> {
  const files = journalFiles(disk)
  const tail = await findTail(files, await disk.list('journal'), await readLimits(disk, 'journal'))
  const payloads: string[] = []
  const [first] = tail.begun
  if (first === undefined) return { tail, payloads }
  await new JournalReader(files).read(grid.firstOf(first), tail.end, (window, at) => {
    if (kindAt(window, at) === kinds.data) payloads.push(payloadAt(window, at).toString())
  })
  return { tail, payloads }
}
