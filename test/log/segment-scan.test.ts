/** Torn tail or corruption: every byte of a small journal is turned over, one at a time. */
import { expect, test } from 'vitest'
import { isWaybillError } from '../../src/errors.js'
import { JournalReader } from '../../src/log/journal-reader.js'
import { SegmentFiles } from '../../src/log/segment-files.js'
import { scanFrames } from '../../src/log/segment-scan.js'
import { segmentHeaderBytes, segmentName } from '../../src/log/segment.js'
import {
  frameBytes,
  frameHeaderBytes,
  kindAt,
  kinds,
  payloadBytesAt,
  sealFrame,
  timeAt,
  verifyFrame,
} from '../../src/record/frame.js'
import { findTail, type JournalTail } from '../../src/recovery/journal-tail.js'
import { memoryDisk, memoryFile } from './memory-disk.js'
import { SegmentContent, seedOf } from './segment-content.js'

const segmentBytes = 8 * 4096
const checkpointBytes = frameBytes('checkpoint 0'.length)

function journal(batchCount: number): SegmentContent {
  const log = new SegmentContent(segmentBytes, 4096)
  for (let i = 0; i < batchCount; i++) {
    log.append([Buffer.from(`record ${i}`), Buffer.alloc(i * 50, 'x')])
    log.sync()
  }
  return log
}

/** Zeroes a field of all commits, or of those of some batches, and seals them anew. @param fieldAt
 * in the payload */
function withoutField(segment: Buffer, fieldAt: number, from = 0): void {
  const seed = seedOf(0)
  for (let at = segmentHeaderBytes, bytes = 0; ; at += bytes) {
    bytes = verifyFrame(segment, at, segment.length, seed ^ at)
    if (bytes === 0) return
    if (kindAt(segment, at) !== kinds.commit || at < from) continue
    segment.writeUInt32LE(0, at + frameHeaderBytes + fieldAt)
    sealFrame(segment, at, kinds.commit, 0, timeAt(segment, at), payloadBytesAt(segment, at), seed ^ at)
  }
}

/** These segments of a log, to be read. */
function filesOf(log: SegmentContent, indexes: readonly number[]): SegmentFiles {
  const disk = memoryDisk(
    new Map(indexes.map((index) => [`journal/${segmentName(index)}`, log.segment(index)])),
  )
  return new SegmentFiles(disk, 'journal', 0, 'journal', log.grid)
}

/** Where the tail ends in a damaged segment, or the error's code and offset. */
async function tailOf(bytes: Buffer): Promise<number | string> {
  const disk = memoryDisk(new Map([[`journal/${segmentName(0)}`, bytes]]))
  const { grid } = new SegmentContent(segmentBytes, 4096)
  const files = new SegmentFiles(disk, 'journal', 0, 'journal', grid)
  try {
    const tail = await findTail(files, [segmentName(0)])
    return tail.index < 0 ? 'unbegun' : grid.offsetOf(tail.end)
  } catch (error) {
    if (!isWaybillError(error)) throw error
    return error.place.segment === 0 ? error.code : `${error.code} without a place`
  }
}

/** What the tail is for each byte turned over, as runs of equal answers: [first, last, answer]. */
async function answers(log: SegmentContent, from: number, to: number): Promise<(number | string)[][]> {
  const bytes = log.segment(0)
  const runs: (number | string)[][] = []
  for (let at = from; at < to; at++) {
    bytes[at]! ^= 0x10
    const answer = await tailOf(bytes)
    bytes[at]! ^= 0x10
    const run = runs.at(-1)
    if (run?.[2] === answer) run[1] = at
    else runs.push([at, at, answer])
  }
  return runs
}

type Batches = readonly [first: Span, second: Span, third: Span]
type Span = SegmentContent['batches'][number]

test('a byte that changed is corruption in the newest checkpoint, a shorter tail in the last batch, and not looked at elsewhere', async () => {
  const log = journal(3)
  const [first, second, third] = log.batches as unknown as Batches
  const runs = await answers(log, segmentHeaderBytes, third.end + 64)
  expect(runs).toEqual([
    [first.start, first.start + checkpointBytes - 1, 'LOG_CORRUPT'],
    [first.start + checkpointBytes, second.end - 1, third.end],
    [third.start, third.end - 1, second.end],
    [third.end, third.end + 63, third.end],
  ])
})

test('in a segment of an earlier release, a byte that changed is corruption before the last batch', async () => {
  const log = journal(3)
  const [first, second, third] = log.batches as unknown as Batches
  // As commits were before they named the checkpoint: the field is a zero of the padding.
  withoutField(log.segment(0), 12)
  const runs = await answers(log, segmentHeaderBytes, third.end + 64)
  expect(runs).toEqual([
    [first.start, second.end - 1, 'LOG_CORRUPT'],
    [third.start, third.end - 1, second.end],
    [third.end, third.end + 63, third.end],
  ])
})

test('a commit with the checksum of another batch does not count, though every frame before it verifies', async () => {
  const log = journal(3)
  const [, second, third] = log.batches as unknown as Batches
  withoutField(log.segment(0), 8, third.start)
  expect(await tailOf(log.segment(0))).toBe(second.end)
})

test('damage in the batch before one that was torn is corruption: it was synced before', async () => {
  const log = journal(3)
  const [first, second, third] = log.batches as unknown as Batches
  const bytes = log.segment(0)
  bytes[third.start + 20]! ^= 1
  expect(await answers(log, second.start - 8, second.end)).toEqual([
    [first.end - 8, first.end - 1, second.end],
    [second.start, second.end - 1, 'LOG_CORRUPT'],
  ])
})

test('a changed byte of the header is never taken for content', async () => {
  const log = journal(2)
  const runs = await answers(log, 0, 64)
  expect(runs).toEqual([
    [0, 43, 'LOG_CORRUPT'],
    [44, 63, log.batches[1]!.end],
  ])
})

test('a segment whose only batch is torn was not begun', async () => {
  const log = journal(1)
  const [only] = log.batches as [(typeof log.batches)[0]]
  expect(await answers(log, only.start, only.end)).toEqual([[only.start, only.end - 1, 'unbegun']])
})

test('a batch that is there up to any byte of it is cut as a whole', async () => {
  const log = journal(3)
  const [, second, third] = log.batches as [
    (typeof log.batches)[0],
    (typeof log.batches)[0],
    (typeof log.batches)[0],
  ]
  const whole = Buffer.from(log.segment(0))
  for (let end = third.start; end < third.end; end += 8) {
    const torn = Buffer.from(whole).fill(0, end)
    const isWhole = torn.equals(whole)
    expect(await tailOf(torn)).toBe(isWhole ? third.end : second.end)
  }
})

test('sectors of the last batch in any mixture of old and new are all or nothing', async () => {
  const log = journal(2)
  log.append([Buffer.alloc(6000, 'y')])
  log.sync()
  const third = log.batches[2]!
  const whole = Buffer.from(log.segment(0))
  // In a recycled segment the old bytes are those of another epoch: anything but zeroes.
  for (const old of [0, 0x55])
    for (let lost = 1; lost < 2 ** ((third.end - third.start) / 4096 + 4); lost++) {
      const torn = Buffer.from(whole)
      for (let sector = 0; sector * 512 < third.end - third.start; sector++)
        if ((lost >> (sector % 6)) & 1)
          torn.fill(old, third.start + sector * 512, third.start + (sector + 1) * 512)
      expect(await tailOf(torn)).toBe(torn.equals(whole) ? third.end : log.batches[1]!.end)
    }
})

test('whichever byte of the last batch rotted, what is cut is counted: the whole batch, unless its commit went', async () => {
  for (const count of [1, 3]) {
    const log = journal(count)
    const last = log.batches.at(-1)!
    const bytes = log.segment(0)
    const commitAt = last.end - bytes.readUInt32LE(last.end - 4)
    for (let at = last.start; at < last.end; at++) {
      bytes[at]! ^= 0x10
      const { cutBytes } = await findTail(filesOf(log, [0]), [segmentName(0)])
      bytes[at]! ^= 0x10
      expect([at, cutBytes]).toEqual([at, (at < commitAt ? last.end : commitAt) - last.start])
    }
  }
})

test('a batch whose end is named by the torn first batch of the next segment had been synced: damage to it is corruption', async () => {
  const log = journal(3)
  const second = log.batches[1]!
  const third = log.batches[2]!
  const next = new SegmentContent(segmentBytes, 4096, log.grid.at(0, third.end), 1)
  next.sync()
  log.segments.set(1, next.segment(1))
  const find = (indexes: readonly number[]): Promise<JournalTail> =>
    findTail(filesOf(log, indexes), indexes.map(segmentName))
  log.segment(1)[segmentHeaderBytes + 20]! ^= 1
  expect(await find([0, 1])).toMatchObject({ index: 0, end: third.end, unbegun: [1] })
  log.segment(0)[third.start + 20]! ^= 1
  const place = (offsetBytes: number): object => ({ code: 'LOG_CORRUPT', place: { segment: 0, offsetBytes } })
  await expect(find([0, 1])).rejects.toMatchObject(place(second.end))
  await expect(find([1])).rejects.toMatchObject(place(third.end))
  expect(await find([0])).toMatchObject({ index: 0, end: second.end })
})

/** Segments 0 and 2 of a journal, and 1 where it has not been given free; where segment 2 has
 * begun, and how. */
async function tailWithout(given: readonly number[], rotAt: number | undefined): Promise<JournalTail> {
  const log = journal(3)
  const later = new SegmentContent(segmentBytes, 4096, log.grid.at(1, 2 * segmentHeaderBytes), 2)
  if (rotAt !== undefined) later.sync()
  for (const index of [1, 3]) log.segment(index)
  log.segments.set(2, later.segment(2))
  if (rotAt !== undefined) log.segment(2)[rotAt]! ^= 1
  return findTail(filesOf(log, given), given.map(segmentName))
}

test('a first batch that rotted after it gave the segment before it free is corruption, not the end of an older one', async () => {
  const corrupt = { code: 'LOG_CORRUPT', place: { segment: 2, offsetBytes: segmentHeaderBytes } }
  for (const rotAt of [segmentHeaderBytes + 20, segmentHeaderBytes + 4000])
    for (const given of [
      [0, 2],
      [0, 2, 3],
      [2, 3],
    ])
      await expect(tailWithout(given, rotAt)).rejects.toMatchObject(corrupt)
  expect(await tailWithout([0, 1, 2, 3], undefined)).toMatchObject({ index: 0, unbegun: [3, 2, 1] })
})

test('damage in the first batch of a segment takes nothing of the one before, but where it is in the commit that names its end', async () => {
  const log = journal(3)
  const { end } = log.batches[2]!
  const next = new SegmentContent(segmentBytes, 4096, log.grid.at(0, end), 1)
  for (let i = 0; i < 2; i++) {
    next.append([Buffer.from(`of the next one ${i}`)])
    next.sync()
  }
  const bytes = next.segment(1)
  log.segments.set(1, bytes)
  const [first, last] = next.batches
  const commitAt = first!.end - bytes.readUInt32LE(first!.end - 4)
  for (let at = first!.start; at < first!.end; at += 7) {
    bytes[at]! ^= 0x10
    let reached = 0
    const visit = (_: Buffer, __: number, position: number, length: number): void => {
      reached = Math.max(reached, Math.min(position + length, end))
    }
    const reader = new JournalReader(filesOf(log, [0, 1]))
    const read = reader.read(log.grid.firstOf(0), log.grid.at(1, last!.end), visit)
    await expect(read).rejects.toMatchObject({ code: 'LOG_CORRUPT', place: { segment: 1 } })
    bytes[at]! ^= 0x10
    expect([at, reached]).toEqual([at, at < commitAt ? end : 0])
  }
})

test('the content of a recycled segment is never read as that of its successor', async () => {
  const log = journal(4)
  const recycled = Buffer.from(log.segment(0))
  const fresh = new SegmentContent(segmentBytes, 4096, undefined, 1).segment(1)
  // The same file, as it looks when it has become segment 1: the new header, the old batches.
  fresh.copy(recycled, 0, 0, segmentHeaderBytes)
  const disk = memoryDisk(new Map([[`journal/${segmentName(1)}`, recycled]]))
  const files = new SegmentFiles(disk, 'journal', 0, 'journal', log.grid)
  const tail = await findTail(files, [segmentName(1)])
  expect(tail).toMatchObject({ index: -1, unbegun: [1], cutBytes: 0 })
})

test('a segment that lies under another name, or in another log, is refused', async () => {
  const log = journal(1)
  for (const index of [1, 5]) {
    const named = memoryDisk(new Map([[`journal/${segmentName(index)}`, log.segment(0)]]))
    const files = new SegmentFiles(named, 'journal', 0, 'journal', log.grid)
    await expect(findTail(files, [segmentName(index)])).rejects.toMatchObject({
      code: 'LOG_CORRUPT',
      place: { segment: index },
    })
  }
  const other = memoryDisk(new Map([[`journal/${segmentName(0)}`, log.segment(0)]]))
  const otherLog = new SegmentFiles(other, 'journal', 2, 'lane 1 envelopes', log.grid)
  await expect(findTail(otherLog, [segmentName(0)])).rejects.toMatchObject({ code: 'LOG_CORRUPT' })
})

test('a file that is shorter than a header is no segment', async () => {
  for (const bytes of [0, 7, 43, 44, 4095])
    expect(await tailOf(journal(1).segment(0).subarray(0, bytes))).toBe(
      bytes >= 44 ? 'unbegun' : 'LOG_CORRUPT',
    )
})

test('a file that was cut anywhere is read to where it was cut, and no further', async () => {
  const log = journal(4)
  const whole = log.segment(0)
  for (let length = segmentHeaderBytes; length < whole.length; length += 24) {
    const answer = await tailOf(whole.subarray(0, length))
    expect([length, typeof answer === 'number' && answer > length]).toEqual([length, false])
  }
})

test('the last commit is found wherever it lies', async () => {
  const long = 4 * 1024 * 1024
  const piece = 1024 * 1024 // What one read of the search takes.
  for (const around of [piece, 2 * piece, 3 * piece])
    for (let block = -6; block <= 6; block++) {
      const log = new SegmentContent(long, 4096)
      log.sync()
      log.append([Buffer.alloc(around + block * 4096, 'x')])
      log.sync()
      // Its commit begins 24 bytes before a block.
      log.append([Buffer.alloc(4056, 'y')])
      log.sync()
      const disk = memoryDisk(new Map([[`journal/${segmentName(0)}`, log.segment(0)]]))
      const files = new SegmentFiles(disk, 'journal', 0, 'journal', log.grid)
      const { end } = await findTail(files, [segmentName(0)])
      expect(end).toBe(log.batches[2]!.end)
    }
})

test('of text that is no frame no longer piece is read than a window, whatever length it would be', async () => {
  const bytes = Buffer.alloc(1024 * 1024, 'lines of an earlier mail, where a frame would stand. ')
  const end = 16 * 1024 * 1024
  expect(payloadBytesAt(bytes, 0)).toBeGreaterThan(128 * 1024)
  expect(payloadBytesAt(bytes, 0)).toBeLessThan(end)
  const { read } = memoryFile(bytes)
  const reads: number[] = []
  const counted = {
    read: (into: Buffer, from: number): Promise<number> => {
      reads.push(into.length)
      return read(into, from)
    },
  }
  expect(await scanFrames(counted, 1, 0, end, () => undefined)).toBe(0)
  expect(Math.max(...reads)).toBeLessThanOrEqual(64 * 1024)
})
