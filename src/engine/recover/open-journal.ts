/** The first half of a recovery, before new mail is accepted: the journal. Finds its end, makes its
 * last batch durable for certain, and begins a segment for this life alone. */
import type { Checkpoint } from '../../record/checkpoint.js'
import { decodeCheckpoint, encodeCheckpoint } from '../../record/checkpoint.js'
import type { Position } from '../../base/position.js'
import { fileSystemTraits } from '../../disk/disk.js'
import { WaybillError } from '../../errors.js'
import type { Garbage } from '../../garbage/pins.js'
import { Journal, journalDirectory } from '../../log/journal.js'
import { journalLog, JournalWriter, type JournalWriterOptions } from '../../log/journal-writer.js'
import { SegmentFiles } from '../../log/segment-files.js'
import { isWhole, type ScannedSegment } from '../../log/segment-scan.js'
import { reserveSpares, SegmentPool } from '../../log/segment-pool.js'
import { SegmentGrid, segmentHeaderBytes, segmentName } from '../../log/segment.js'
import { WriteLimit } from '../../log/write-limit.js'
import type { JournalTail } from '../../recovery/journal-tail.js'
import { journalFiles } from '../../directory/log-files.js'
import type { QueueHeader } from '../../directory/header.js'
import type { EngineOptions } from '../life/options.js'

/** Spares kept beyond the reserve: what a burst of mail needs before its segments come back. Of
 * large segments there are fewer. */
const burstBytes = 256 * 1024 * 1024
const burstSparesOf = (segmentBytes: number): number =>
  Math.min(16, Math.max(4, Math.floor(burstBytes / segmentBytes)))
const batchBytesMax = 2 * 1024 * 1024

export interface OpenedJournal {
  readonly journal: Journal
  readonly tail: JournalTail
  readonly life: number
  /** What the newest checkpoint says; at a queue's first start, that it is empty. */
  readonly checkpoint: Checkpoint
  /** Where the first frame of this life can be. */
  readonly firstPosition: Position
  /** Begins the segment: from here on mail can be accepted. */
  readonly begin: () => void
}

type Callbacks = Pick<JournalWriterOptions, 'onDurable' | 'onSegment' | 'onFailure'> & {
  readonly onLimit: () => void
  readonly onRoom: () => void
}

/** @throws WaybillError LOG_CORRUPT, FORMAT_NEWER, DISK_FAILED */
export async function openJournal(
  options: EngineOptions,
  header: QueueHeader,
  tail: JournalTail,
  garbage: Garbage,
  callbacks: Callbacks,
): Promise<OpenedJournal> {
  const { disk, clock, prng } = options
  const files = journalFiles(disk, header)
  const { grid } = files
  const names = await disk.list(journalDirectory)
  const life = tail.life + 1
  const index = tail.index + 1
  const checkpoint = checkpointOf(tail, grid, life)
  await rewriteLastBatch(options, files, tail)

  const pool = new SegmentPool({
    disk,
    directory: journalDirectory,
    log: journalLog,
    segmentBytes: header.segmentBytes,
    life,
    spareCountMax: reserveSpares + burstSparesOf(header.segmentBytes),
    onChange: callbacks.onRoom,
  })
  await pool.adopt(names, tail.unbegun)
  await pool.ensureOne()
  const { reuses } = disk.traits ?? fileSystemTraits
  const place = { disk, clock, directory: journalDirectory, segmentBytes: header.segmentBytes }
  const limit = reuses ? await WriteLimit.open(place) : undefined
  const pins = garbage.of(journalLog)
  for (const begun of tail.begun) pins.add(begun)
  pins.add(index)
  const writer = new JournalWriter({
    clock,
    prng,
    grid,
    pool,
    limit,
    batchBytes: Math.min(batchBytesMax, header.segmentBytes / 4),
    index,
    previousEnd: tail.end,
    onDurable: callbacks.onDurable,
    onSegment: (entered) => {
      pins.add(entered)
      callbacks.onSegment(entered)
    },
    onPrepared: callbacks.onRoom,
    onLimit: callbacks.onLimit,
    onFailure: callbacks.onFailure,
  })
  pool.keepLast(true)
  await writer.prepared
  return {
    journal: new Journal(writer, files, pool),
    tail,
    life,
    checkpoint,
    firstPosition: grid.firstOf(index),
    begin: () => writer.begin(tail.checkpoint ?? encodeCheckpoint(checkpoint)),
  }
}

/** The page cache may show a batch that a failed sync of an earlier life never brought to the disk.
 * Written again, same bytes, and synced, it is durable; those before it are, because it was written
 * after they were synced.
 *    1. batch written, sync fails
 *    2. restart in the same boot reads it from memory
 *    3. mail delivered
 *    4. power loss: never there
 * The bytes that are written are those that are looked at here: the cache may have been emptied
 * since the tail was found.
 *    1. batch written, sync fails
 *    2. restart finds it in memory
 *    3. memory runs short, the page goes
 *    4. what the disk holds is written again, and the next segment names an end that no batch has:
 *       no later life opens
 * @throws WaybillError DISK_FAILED when it is not there any more: the next start finds the end
 * that the disk has */
async function rewriteLastBatch(
  { disk }: EngineOptions,
  files: SegmentFiles,
  tail: JournalTail,
): Promise<void> {
  if (tail.lastBatch === undefined) return
  const { offsetBytes, bytes } = tail.lastBatch
  const batch = Buffer.allocUnsafe(bytes)
  const inMemory: ScannedSegment['file'] = {
    read: async (into, position) => batch.copy(into, 0, position - offsetBytes),
  }
  const path = `${journalDirectory}/${segmentName(tail.index)}`
  const isThere = await files.with(tail.index, async ({ file, seed, header }) => {
    await file.read(batch, offsetBytes)
    const segment = { file: inMemory, seed, header }
    return isWhole(segment, { start: offsetBytes, end: offsetBytes + bytes })
  })
  if (!isThere)
    throw new WaybillError('DISK_FAILED', 'the last batch has changed since it was read', { path })
  const file = await disk.open(path, 'synced')
  await file.write(batch, offsetBytes)
  await file.close()
}

/** @throws WaybillError LOG_CORRUPT when a begun segment does not begin with a copy: then nothing
 * says what is trusted */
function checkpointOf(tail: JournalTail, grid: SegmentGrid, life: number): Checkpoint {
  if (tail.checkpoint !== undefined) return decodeCheckpoint(tail.checkpoint)
  if (tail.index >= 0)
    throw new WaybillError('LOG_CORRUPT', 'the newest segment has no checkpoint', {
      log: 'journal',
      segment: tail.index,
    })
  const suffix = grid.at(0, segmentHeaderBytes)
  return { life, suffix, lanes: [], laneNext: 0, spoolHighest: 0, spoolPending: [] }
}
