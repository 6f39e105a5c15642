/** Reading ahead shows what the file has, and reads it once. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PiecesAhead, pieceBytes } from '../../src/inspect/damage/pieces-ahead.js'

const size = 3 * pieceBytes + 1000
const contentOf = (seed: number): Buffer =>
  Buffer.from(Array.from({ length: size }, (_, i) => (i * 31 + seed) >>> 3))
const content = contentOf(0)

/** A file that counts; from `refusedAt` on it reads nothing. */
class CountingFile {
  content: Buffer = content
  refusedAt = Infinity
  readonly reads: (readonly [from: number, to: number])[] = []

  async read(into: Buffer, offset: number): Promise<number> {
    if (offset + into.length > this.refusedAt) throw new Error('refused')
    const length = this.content.copy(into, 0, Math.min(offset, this.content.length))
    this.reads.push([offset, offset + length])
    return length
  }

  get readBytes(): number {
    return this.reads.reduce((sum, [from, to]) => sum + to - from, 0)
  }
}

test('any reads fill what the file would fill, between the first offset and the end', async () => {
  const anyRead = fc.tuple(fc.nat(size), fc.nat(pieceBytes), fc.nat(1))
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyRead, { minLength: 1, maxLength: 12 }),
      fc.nat(2000),
      async (reads, beyond) => {
        const file = new CountingFile()
        const ahead = new PiecesAhead()
        const end = size - 1000 + beyond
        const first = Math.min(...reads.map(([offset]) => offset))
        for (const [offset, length, index] of reads) {
          const into = Buffer.alloc(Math.max(0, Math.min(length, end - offset)))
          const wanted = Buffer.alloc(into.length)
          const count = content.copy(wanted, 0, Math.min(offset, size))
          expect(await ahead.of({ index, file, end }).read(into, offset)).toBe(count)
          expect(into.equals(wanted)).toBe(true)
        }
        for (const [from, to] of file.reads) {
          expect(from).toBeGreaterThanOrEqual(first)
          expect(to).toBeLessThanOrEqual(end)
        }
      },
    ),
    { numRuns: 100 },
  )
})

test('a walk that stops everywhere reads each byte once', async () => {
  const file = new CountingFile()
  const ahead = new PiecesAhead()
  const into = Buffer.alloc(pieceBytes)
  for (let at = 64; at < size; at += 50_000)
    await ahead.of({ index: 0, file, end: size }).read(into.subarray(0, size - at), at)
  expect(file.readBytes).toBe(size - 64)
})

test('an end that moves on is followed', async () => {
  const file = new CountingFile()
  const ahead = new PiecesAhead()
  const into = Buffer.alloc(1000)
  await ahead.of({ index: 0, file, end: 500 }).read(into.subarray(0, 500), 0)
  expect(await ahead.of({ index: 0, file, end: 1000 }).read(into, 0)).toBe(1000)
  expect(into.equals(content.subarray(0, 1000))).toBe(true)
})

test('the next piece is being read while one is looked at', async () => {
  const file = new CountingFile()
  await new PiecesAhead().of({ index: 0, file, end: size }).read(Buffer.alloc(1000), 0)
  expect(file.readBytes).toBe(2 * pieceBytes)
})

test('a piece that is refused is read again by its reader, without what lies behind', async () => {
  const file = new CountingFile()
  file.refusedAt = pieceBytes + 5000
  const segment = new PiecesAhead().of({ index: 0, file, end: size })
  const into = Buffer.alloc(8000)
  expect(await segment.read(into, pieceBytes - 4000)).toBe(8000)
  expect(into.equals(content.subarray(pieceBytes - 4000, pieceBytes + 4000))).toBe(true)
  await expect(segment.read(into, pieceBytes)).rejects.toThrow('refused')
})

test('what is read after `forget` is as it is then', async () => {
  const file = new CountingFile()
  const ahead = new PiecesAhead()
  const into = Buffer.alloc(1000)
  await ahead.of({ index: 0, file, end: size }).read(into, 0)
  file.content = contentOf(1)
  await ahead.of({ index: 0, file, end: size }).read(into, pieceBytes)
  expect(into.equals(content.subarray(pieceBytes, pieceBytes + 1000))).toBe(true)
  ahead.forget()
  await ahead.of({ index: 0, file, end: size }).read(into, pieceBytes)
  expect(into.equals(file.content.subarray(pieceBytes, pieceBytes + 1000))).toBe(true)
})
