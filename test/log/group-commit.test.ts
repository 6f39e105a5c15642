import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32 } from '../../src/base/checksum.js'
import type { Position } from '../../src/base/position.js'
import { isWaybillError } from '../../src/errors.js'
import { commitAt } from '../../src/log/commit-frame.js'
import { scanBatches, scanFrames } from '../../src/log/segment-scan.js'
import { formatVersion, blockBytes, segmentHeaderBytes } from '../../src/log/segment.js'
import { frameBytes, kindAt, kinds, payloadAt, verifyFrame } from '../../src/record/frame.js'
import { encodeFields } from '../../src/record/msgpack.js'
import { payload as writer } from '../../src/record/payload-writer.js'
import { memoryFile } from './memory-disk.js'
import { SegmentContent, seedOf } from './segment-content.js'

const segmentBytes = 8 * blockBytes
const payload = (bytes: number, fill = 1): Buffer => Buffer.alloc(bytes, fill)

test('what is appended while a batch is in flight is not durable when that batch is', () => {
  const log = new SegmentContent(segmentBytes, blockBytes)
  const [first] = log.append([payload(100)]) as [Position]
  expect(log.take()).toBeDefined()
  const [second] = log.append([payload(100)]) as [Position]
  expect(log.take()).toBeUndefined()
  log.commits.written()
  expect(log.commits.durableEnd).toBeGreaterThan(first)
  expect(log.commits.durableEnd).toBeLessThanOrEqual(second)
  log.sync()
  expect(log.commits.durableEnd).toBeGreaterThan(second)
})

test('nothing becomes durable by being taken', () => {
  const log = new SegmentContent(segmentBytes, blockBytes)
  log.append([payload(100)])
  const before = log.commits.durableEnd
  log.take()
  expect(log.commits.durableEnd).toBe(before)
})

test('what comes while a full batch waits is no batch yet: more may come', () => {
  const log = new SegmentContent(segmentBytes, blockBytes)
  log.sync()
  log.append([payload(9000)])
  log.append([payload(40)])
  log.take()
  log.append([payload(40)])
  log.commits.written()
  log.sync()
  expect(log.batches).toHaveLength(3)
})

test('nothing appended is nothing to write', () => {
  const log = new SegmentContent(segmentBytes, blockBytes)
  log.sync()
  const { length } = log.batches
  log.sync()
  expect(log.batches).toHaveLength(length)
  expect(log.commits.stagedBytes).toBe(0)
})

test('a group that no segment can hold is refused and changes nothing', () => {
  const log = new SegmentContent(segmentBytes, blockBytes)
  const { end } = log.commits
  expect(() => log.append([payload(segmentBytes - segmentHeaderBytes)])).toThrow(
    expect.objectContaining({ code: 'MESSAGE_TOO_LARGE' }),
  )
  expect(log.commits.end).toBe(end)
})

test('the largest group that is accepted fits', () => {
  for (let bytes = segmentBytes - segmentHeaderBytes; bytes > 0; bytes -= 8) {
    const log = new SegmentContent(segmentBytes, blockBytes)
    if (isRefused(() => log.append([payload(bytes)]))) continue
    log.sync()
    expect(log.batches.at(-1)!.end).toBe(segmentBytes)
    return
  }
  expect.unreachable()
})

function isRefused(act: () => unknown): boolean {
  try {
    act()
    return false
  } catch (error) {
    return isWaybillError(error, 'MESSAGE_TOO_LARGE')
  }
}

const anySteps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.array(fc.nat(3000), { minLength: 1, maxLength: 3 }) },
    { weight: 2, arbitrary: fc.constant('take' as const) },
    { weight: 2, arbitrary: fc.constant('written' as const) },
    { weight: 1, arbitrary: fc.constant('checkpoint' as const) },
  ),
  { maxLength: 120, size: 'max' },
)

interface Told {
  readonly at: Position
  readonly payload: Buffer
  /** Number of its group. */
  readonly group: number
}

/** Lives through the steps; what was appended, in order, and what each segment begins with. */
function live(
  steps: readonly (number[] | 'take' | 'written' | 'checkpoint')[],
  batchBytes: number,
): { log: SegmentContent; told: Told[]; copies: Map<number, string> } {
  const log = new SegmentContent(segmentBytes, batchBytes)
  const told: Told[] = []
  const copies = new Map([[0, 'checkpoint 0']])
  let newest = 'checkpoint 0'
  let underWay = false
  steps.forEach((step, i) => {
    if (step === 'take') underWay = log.take() !== undefined || underWay
    else if (step === 'written') {
      if (underWay) log.commits.written()
      underWay = false
    } else if (step === 'checkpoint') {
      const before = log.commits.segmentIndex
      const bytes = Buffer.from(`checkpoint ${i}`)
      log.commits.open(frameBytes(bytes.length), 1)
      log.commits.rememberCheckpoint(bytes, log.commits.append(kinds.checkpoint, 0, 1, bytes))
      if (log.commits.segmentIndex !== before) copies.set(log.commits.segmentIndex, newest)
      newest = bytes.toString()
    } else {
      const payloads = step.map((bytes) => payload(bytes, i))
      const before = log.commits.segmentIndex
      log.append(payloads).forEach((at, n) => told.push({ at, payload: payloads[n]!, group: i }))
      if (log.commits.segmentIndex !== before) copies.set(log.commits.segmentIndex, newest)
    }
  })
  if (underWay) log.commits.written()
  log.sync()
  return { log, told, copies }
}

const brief = ({ at, payload: bytes }: { readonly at: number; readonly payload: Buffer }): string =>
  `${at}: ${bytes.length} of ${bytes[0]}, ${crc32(bytes)}`

interface Read {
  readonly at: number
  readonly payload: Buffer
  readonly batch: number
}

/** Each commit names the newest checkpoint of its segment. */
async function expectCheckpointsNamed(segment: Buffer, index: number): Promise<void> {
  let newest = 0
  await scanFrames(
    memoryFile(segment),
    seedOf(index),
    segmentHeaderBytes,
    segmentBytes,
    (window, at, offset) => {
      if (kindAt(window, at) === kinds.checkpoint) newest = offset
      if (kindAt(window, at) === kinds.commit) expect(commitAt(window, at).checkpoint).toBe(newest)
    },
  )
}

/** All data frames that count, and the payload of each segment's first frame. */
async function readBack(log: SegmentContent): Promise<{ data: Read[]; copies: Map<number, string> }> {
  const data: Read[] = []
  const copies = new Map<number, string>()
  let batch = 0
  let previousEnd = 0
  for (const [index, segment] of log.segments) {
    const { first, last } = await scanBatches(
      { file: memoryFile(segment), seed: seedOf(index), header: { version: formatVersion } },
      segmentBytes,
      (window, at, offset) => {
        if (offset === segmentHeaderBytes) copies.set(index, payloadAt(window, at).toString())
        const start = log.batches.findIndex((b) => b.index === index && b.start <= offset && offset < b.end)
        batch = start
        if (kindAt(window, at) === kinds.data)
          data.push({ at: log.grid.at(index, offset), payload: Buffer.from(payloadAt(window, at)), batch })
      },
    )
    expect(first?.previousEnd).toBe(previousEnd)
    previousEnd = log.grid.at(index, last!.end)
    await expectCheckpointsNamed(segment, index)
  }
  return { data, copies }
}

test('what was appended is read back in order, each group in one batch, each segment behind a copy of the newest checkpoint', async () => {
  await fc.assert(
    fc.asyncProperty(anySteps, fc.constantFrom(1, 2, 4), async (steps, batchBlocks) => {
      const { log, told, copies } = live(steps, batchBlocks * blockBytes)
      const read = await readBack(log)
      expect(read.data.map(brief)).toEqual(told.map(brief))
      const batches = new Set(read.data.map(({ batch }, i) => `${told[i]!.group} ${batch}`))
      expect(batches.size).toBe(new Set(told.map(({ group }) => group)).size)
      expect(read.copies).toEqual(copies)
    }),
    { numRuns: 100 },
  )
})

test('batches follow each other without a gap, on whole blocks, each naming the end of the one before', () => {
  fc.assert(
    fc.property(anySteps, (steps) => {
      const { log } = live(steps, blockBytes)
      log.batches.forEach(({ index, start, end }, i) => {
        const before = log.batches[i - 1]
        expect([start % blockBytes, end % blockBytes]).toEqual([0, 0])
        expect(start).toBe(before?.index === index ? before.end : segmentHeaderBytes)
        expect(index - (before?.index ?? index)).toBeLessThanOrEqual(1)
      })
      expect(log.commits.stagedBytes).toBe(0)
    }),
    { numRuns: 100 },
  )
})

test('no group makes a batch that leaves its segment, whatever it seals before it', () => {
  // Behind some of what is staged there is no room for a commit in its block; and the group fits
  // behind it, but maybe not behind that commit.
  for (const staged of [40, 4040, 4048, 4056])
    for (let bytes = 4 * blockBytes - 200; bytes <= 5 * blockBytes + 200; bytes += 8) {
      const log = new SegmentContent(segmentBytes, blockBytes)
      log.sync()
      log.append([payload(staged)])
      log.append([payload(bytes)])
      // What is put there must have room.
      log.sync()
      expect(log.batches.length).toBeGreaterThan(2)
    }
})

test('what was written where its frame will be is read back, wherever a batch or a segment ends', async () => {
  const log = new SegmentContent(segmentBytes, blockBytes)
  const told: string[] = []
  for (let i = 0; i < 1500; i++) {
    const fields = [i, 'x'.repeat((i * 37) % 190)] as const
    log.commits.aim()
    writer.list(2).count(fields[0]).text(fields[1])
    log.commits.open(frameBytes(writer.bytes), 1)
    log.commits.appendWritten(kinds.data, 0, 1)
    told.push(encodeFields(fields).toString('latin1'))
    if (i % 50 === 49) log.sync()
  }
  const { data } = await readBack(log)
  expect(data.map(({ payload: bytes }) => bytes.toString('latin1'))).toEqual(told)
})

test('a batch is sealed with the checksum of the checksums of its frames, data or not', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1500), { minLength: 1, maxLength: 8 }), (lengths) => {
      const log = new SegmentContent(segmentBytes * 4, 2 * blockBytes)
      for (const bytes of lengths) {
        log.commits.open(frameBytes(bytes), 1)
        const content = payload(bytes, 65 + (bytes % 26))
        log.commits.append(kinds.recipients, 0, 1, content)
        log.commits.open(frameBytes(bytes), 1)
        expect(log.commits.appendData(0, 1, content)).toBe(crc32(content))
      }
      const { buffer, used, offsetBytes, seed } = log.commits.take(1)!
      let at = 0
      let last = 0
      const checksums: Buffer[] = []
      for (let bytes = 0; at < used; at += bytes) {
        bytes = verifyFrame(buffer, at, used, seed ^ (offsetBytes + at))
        expect(bytes).toBeGreaterThan(0)
        last = at
        checksums.push(buffer.subarray(at, at + 4))
      }
      expect(commitAt(buffer, last).checksum).toBe(crc32(Buffer.concat(checksums.slice(0, -1))))
    }),
  )
})
