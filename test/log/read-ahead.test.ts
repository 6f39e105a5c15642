/** Frames that are asked for by position: those in a row come out of one read, and none comes out
 * of what the log was before. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { position, type Position } from '../../src/base/position.js'
import type { Disk, DiskFile } from '../../src/disk/disk.js'
import { SegmentFiles } from '../../src/log/segment-files.js'
import {
  encodeSegmentHeader,
  SegmentGrid,
  segmentHeaderBytes,
  segmentName,
  segmentSeed,
} from '../../src/log/segment.js'
import { frameBytes, kinds, sealFrame } from '../../src/record/frame.js'

const segmentBytes = 1024 * 1024
const grid = new SegmentGrid(segmentBytes)
const log = 7
const epoch = [1, 2] as const

interface Shelf {
  readonly files: SegmentFiles
  /** What was read of the segments, headers apart: offset and length. */
  readonly reads: (readonly [number, number])[]
  /** Reads fail with this, … */
  error: Error | undefined
  /** … those that touch this byte, by its offset; of both segments. */
  errorAt: number | undefined
  /** Writes a frame. @returns its position */
  write(index: number, offset: number, payload: Buffer): Position
  /** The payload of the frame there, asked for by its length. */
  read(at: Position, bytes: number): Promise<string>
}

/** Two segments in memory. */
function shelf(): Shelf {
  const contents = [0, 1].map((index) => {
    const bytes = Buffer.alloc(segmentBytes)
    encodeSegmentHeader({ log, index, segmentBytes, epoch, life: 1 }).copy(bytes)
    return bytes
  })
  const reads: [number, number][] = []
  const fileOf = (bytes: Buffer): Partial<DiskFile> => ({
    read: async (into, offset) => {
      if (offset > 0) {
        reads.push([offset, into.length])
        const { error, errorAt = offset } = made
        if (error !== undefined && errorAt >= offset && errorAt < offset + into.length) throw error
      }
      return bytes.copy(into, 0, offset, offset + into.length)
    },
    close: async () => undefined,
  })
  const open = async (path: string): Promise<DiskFile> =>
    fileOf(contents[path.endsWith(segmentName(0)) ? 0 : 1]!) as DiskFile
  const disk: Partial<Disk> = { open }
  const files = new SegmentFiles(disk as Disk, 'lane', log, 'lane 3 data', grid)
  const made: Shelf = {
    files,
    reads,
    error: undefined,
    errorAt: undefined,
    write: (index, offset, payload) => {
      const bytes = contents[index]!
      payload.copy(bytes, offset + 16)
      const seed = segmentSeed(log, index, epoch) ^ offset
      sealFrame(bytes, offset, kinds.data, 3, 1, payload.length, seed)
      return grid.at(index, offset)
    },
    read: async (at, bytes) => (await files.frame(at, bytes)).payload.toString('latin1'),
  }
  return made
}

const bodyBytes = 1000
const body = (i: number): Buffer => Buffer.from(String(i).padStart(bodyBytes, '.'))

/** Frames of one length behind each other. @returns their positions */
const row = (on: Shelf, count: number, index = 0): Position[] =>
  Array.from({ length: count }, (_, i) =>
    on.write(index, segmentHeaderBytes + i * frameBytes(bodyBytes), body(i)),
  )

test('a hundred frames of a kilobyte that are asked for in their order are one or two reads', async () => {
  const on = shelf()
  const places = row(on, 100)
  for (const [i, at] of places.entries()) expect(await on.read(at, bodyBytes)).toBe(String(body(i)))
  expect(on.reads.length).toBeLessThanOrEqual(2)
})

test('frames that are asked for all at once share a read', async () => {
  const on = shelf()
  const places = row(on, 100)
  const texts = await Promise.all(places.map((at) => on.read(at, bodyBytes)))
  expect(texts).toEqual(places.map((_, i) => String(body(i))))
  expect(on.reads.length).toBeLessThanOrEqual(2)
})

test('a frame that is asked for out of the row is read alone', async () => {
  const on = shelf()
  const places = row(on, 500)
  for (const at of places.toReversed()) await on.read(at, bodyBytes)
  expect(on.reads).toHaveLength(500)
  expect(on.reads.slice(1).every(([, length]) => length === frameBytes(bodyBytes))).toBe(true)
})

test('what was written after the piece was read is found', async () => {
  const on = shelf()
  const places = row(on, 3)
  for (const at of places) await on.read(at, bodyBytes)
  const later = on.write(0, segmentHeaderBytes + 3 * frameBytes(bodyBytes), body(3))
  expect(await on.read(later, bodyBytes)).toBe(String(body(3)))
})

test('a frame that is not there is corrupt, in a piece as well', async () => {
  const on = shelf()
  const places = row(on, 3)
  for (const at of places) await on.read(at, bodyBytes)
  const behind = position(places[2]! + frameBytes(bodyBytes))
  await expect(on.read(behind, bodyBytes)).rejects.toMatchObject({ code: 'LOG_CORRUPT' })
})

test('a reader that changes its piece changes no other reader’s', async () => {
  const on = shelf()
  const places = row(on, 3)
  await on.read(places[0]!, bodyBytes)
  const [one, other] = [
    await on.files.frame(places[1]!, bodyBytes),
    await on.files.frame(places[1]!, bodyBytes),
  ]
  one.payload.fill(0)
  expect(other.payload.toString()).toBe(String(body(1)))
})

test('a piece that could not be read rejects all its readers, and is read anew for later ones', async () => {
  const on = shelf()
  const places = row(on, 20)
  await on.read(places[0]!, bodyBytes)
  await on.files.forget(0)
  on.error = new Error('the device is gone')
  const asked = await Promise.allSettled(places.slice(1).map((at) => on.read(at, bodyBytes)))
  expect(asked.map(({ status }) => status)).toEqual(Array(19).fill('rejected'))
  on.error = undefined
  for (const [i, at] of places.entries()) expect(await on.read(at, bodyBytes)).toBe(String(body(i)))
})

test('of a piece that is refused for one place, the frames that do not touch it are read', async () => {
  const on = shelf()
  const places = row(on, 20)
  on.error = new Error('the device refuses a block')
  on.errorAt = segmentHeaderBytes + 10 * frameBytes(bodyBytes)
  const read = await Promise.allSettled(places.map((at) => on.read(at, bodyBytes)))
  expect(read.map(({ status }) => status)).toEqual(
    places.map((_, i) => (i === 10 ? 'rejected' : 'fulfilled')),
  )
})

test('any frames in any order, written before or after others are read, are what was written', async () => {
  const frame = fc.record({
    bytes: fc.integer({ min: 0, max: 90_000 }),
    index: fc.integer({ min: 0, max: 1 }),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(frame, { maxLength: 16 }),
      fc.infiniteStream(fc.nat()),
      async (frames, picks) => {
        const on = shelf()
        const ends = [segmentHeaderBytes, segmentHeaderBytes]
        const written: { readonly at: Position; readonly text: string }[] = []
        for (const [i, { bytes, index }] of frames.entries()) {
          const payload = Buffer.alloc(bytes, `${i} `)
          if (ends[index]! + frameBytes(bytes) > segmentBytes) continue
          written.push({ at: on.write(index, ends[index]!, payload), text: payload.toString('latin1') })
          ends[index]! += frameBytes(bytes)
          for (let reads = 0; reads < 3; reads++) {
            const { at, text } = written[picks.next().value % written.length]!
            expect(await on.read(at, text.length)).toBe(text)
          }
        }
      },
    ),
  )
})
