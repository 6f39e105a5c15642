/** What a start takes for the end of the journal when it lies in several segments;
 * test/log/segment-scan.test.ts turns over the bytes of one. */
import { expect, test } from 'vitest'
import { position, type Position } from '../../src/base/position.js'
import type { Disk } from '../../src/disk/disk.js'
import { SegmentFiles } from '../../src/log/segment-files.js'
import { encodeSegmentHeader, segmentHeaderBytes, segmentName } from '../../src/log/segment.js'
import { findTail, type JournalTail } from '../../src/recovery/journal-tail.js'
import { memoryDisk } from '../log/memory-disk.js'
import { epochOf, SegmentContent } from '../log/segment-content.js'

const segmentBytes = 8 * 4096

/** A segment with so many batches, each of two frames. @param previousEnd where the one before
 * ends */
function segmentOf(index: number, batchCount: number, previousEnd: Position): SegmentContent {
  const log = new SegmentContent(segmentBytes, 4096, previousEnd, index)
  for (let i = 0; i < batchCount; i++) {
    if (i > 0) log.append([Buffer.from(`record ${i}`), Buffer.alloc(100)])
    log.sync()
  }
  return log
}

/** Segments 0, 1, … with so many batches each, every one named by the next. */
function journalOf(...batchCounts: readonly number[]): SegmentContent[] {
  let end = position(0)
  return batchCounts.map((count, index) => {
    const log = segmentOf(index, count, end)
    const { batches, grid } = log
    end = grid.at(index, batches.at(-1)?.end ?? segmentHeaderBytes)
    return log
  })
}

/** Turns over a bit in the first frame of a batch, or in its commit. */
function tear(log: SegmentContent, batch: number, what: 'frame' | 'commit'): void {
  const { index, start, end } = log.batches[batch]!
  log.segment(index)[what === 'frame' ? start + 20 : end - 8]! ^= 1
}

const filesOn = (disk: Disk, { grid }: SegmentContent): SegmentFiles =>
  new SegmentFiles(disk, 'journal', 0, 'journal', grid)

const diskOf = (journal: readonly SegmentContent[]): Disk =>
  memoryDisk(new Map(journal.map((log, index) => [`journal/${segmentName(index)}`, log.segment(index)])))

const find = (journal: readonly SegmentContent[], disk: Disk = diskOf(journal)): Promise<JournalTail> =>
  findTail(
    filesOn(disk, journal[0]!),
    journal.map((_, index) => segmentName(index)),
  )

test('a life is newer than all that have made a segment, also those that came to no batch', async () => {
  const journal = journalOf(2, 0, 0)
  const made = { log: 0, segmentBytes }
  encodeSegmentHeader({ ...made, index: 1, epoch: epochOf(1), life: 7 }).copy(journal[1]!.segment(1))
  encodeSegmentHeader({ ...made, index: 2, epoch: epochOf(2), life: 6 }).copy(journal[2]!.segment(2))
  expect(await find(journal)).toMatchObject({ index: 0, unbegun: [2, 1], life: 7, begunLife: 1 })
})

test('bytes of all batches that were torn are counted as cut', async () => {
  const journal = journalOf(3, 1)
  const [zero, one] = journal as [SegmentContent, SegmentContent]
  // The second life found the tear, and began behind it.
  const later = segmentOf(1, 1, zero.grid.at(0, zero.batches[1]!.end))
  tear(zero, 2, 'frame')
  tear(later, 0, 'frame')
  const cut = [zero.batches[2]!, one.batches[0]!].reduce((sum, { start, end }) => sum + end - start, 0)
  expect(await find([zero, later])).toMatchObject({ index: 0, cutBytes: cut })
})

test('a batch that a torn one names had been synced, also where a segment with none stands between', async () => {
  const journal = journalOf(2, 1, 1)
  tear(journal[2]!, 0, 'frame')
  expect(await find(journal)).toMatchObject({ index: 1, unbegun: [2] })
  tear(journal[1]!, 0, 'commit')
  await expect(find(journal)).rejects.toMatchObject({ code: 'LOG_CORRUPT' })
})

test('a commit that names something else than a checkpoint is corruption', async () => {
  const [log] = journalOf(1) as [SegmentContent]
  const [at] = log.append([Buffer.from('no checkpoint')]) as [Position]
  log.commits.rememberCheckpoint(Buffer.from('checkpoint 1'), at)
  log.sync()
  await expect(find([log])).rejects.toMatchObject({
    code: 'LOG_CORRUPT',
    place: { segment: 0, offsetBytes: at },
  })
})

test('no segment that was looked at stays open', async () => {
  const journal = journalOf(2, 0, 0)
  const plain = diskOf(journal)
  let openCount = 0
  const open: Disk['open'] = async (...given) => {
    const file = await plain.open(...given)
    openCount++
    return { ...file, close: async () => void openCount-- }
  }
  await find(journal, { ...plain, open })
  expect(openCount).toBe(0)
})

test('a limit that batches lie behind is not believed', async () => {
  const journal = journalOf(5)
  const { batches } = journal[0]!
  const whole = await find(journal)
  for (const { end } of batches) {
    const files = filesOn(diskOf(journal), journal[0]!)
    expect(await findTail(files, [segmentName(0)], () => end)).toEqual(whole)
  }
})

test('a limit above a batch that has rotted cuts off none of those behind it', async () => {
  for (let rotten = 1; rotten < 4; rotten++) {
    const journal = journalOf(5)
    const { batches } = journal[0]!
    tear(journal[0]!, rotten, 'frame')
    const files = filesOn(diskOf(journal), journal[0]!)
    const limited = await findTail(files, [segmentName(0)], () => batches[rotten]!.end)
    expect(limited).toEqual(await find(journal))
  }
})

test('a limit that is older than its segment makes no damage of what is whole', async () => {
  const log = segmentOf(2, 3, position(segmentBytes))
  const disk = memoryDisk(new Map([[`journal/${segmentName(2)}`, log.segment(2)]]))
  const tail = (limitBytes: number): Promise<JournalTail> =>
    findTail(filesOn(disk, log), [segmentName(2)], () => limitBytes)
  const { end } = await tail(segmentBytes)
  for (let limitBytes = segmentHeaderBytes; limitBytes < segmentBytes; limitBytes += 64)
    expect((await tail(limitBytes)).end).toBe(end)
})
