/** Records written field by field are the bytes that msgpackr would write of the same fields. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeFields } from '../../src/record/msgpack.js'
import { payload } from '../../src/record/payload-writer.js'

const edges = [0, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000, 0xffffffff, 0x1_0000_0000, 2 ** 53 - 1]
const count = fc.oneof(fc.constantFrom(...edges), fc.nat(), fc.maxSafeNat())
const text = fc.oneof(
  fc.string({ maxLength: 70 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.constantFrom(...[31, 32, 48, 49, 255, 256, 65_535, 65_536].map((length) => 'x'.repeat(length))),
)

test('counts, texts and lists of any length are written as msgpackr writes them', () => {
  fc.assert(
    fc.property(
      fc.array(count, { maxLength: 40 }),
      fc.array(text, { maxLength: 20 }),
      count,
      text,
      (counts, texts, one, word) => {
        const written = payload.list(4).counts(counts).texts(texts).count(one).text(word).end()
        expect(written.equals(encodeFields([counts, texts, one, word]))).toBe(true)
      },
    ),
  )
})

test('a payload stays what it is while others are written behind it', () => {
  const kept: [Buffer, string][] = []
  for (let i = 0; i < 2000; i++) {
    const word = `${i} ${'y'.repeat(i % 200)}`
    kept.push([payload.list(1).text(word).end(), word])
  }
  for (const [written, word] of kept) expect(written.equals(encodeFields([word]))).toBe(true)
})

test('a payload longer than a slab is whole', () => {
  const texts = Array.from({ length: 5000 }, (_, i) => `recipient-${i}@example.net`)
  const written = payload.list(2).count(1).texts(texts).end()
  expect(written.equals(encodeFields([1, texts]))).toBe(true)
})

test.each([15, 16, 65_535, 65_536])('a list of %d counts is written as msgpackr writes it', (length) => {
  const counts = Array.from({ length }, (_, i) => i % 300)
  const written = payload.list(1).counts(counts).end()
  expect(written.equals(encodeFields([counts]))).toBe(true)
})

test('a payload that outgrows the room where it was aimed is whole, wherever a slab ends', () => {
  const begun = 'b'.repeat(900)
  const rest = 'r'.repeat(60)
  for (let i = 0; i < 500; i++) {
    payload.aim(Buffer.alloc(1000), 20, 950)
    const written = payload.list(2).text(begun).text(rest).end()
    expect(written.equals(encodeFields([begun, rest]))).toBe(true)
  }
})

test('a payload that is aimed behind the end of a buffer stands elsewhere', () => {
  const buffer = Buffer.alloc(8)
  payload.aim(buffer, 16, 8)
  payload.list(1).count(5)
  expect(payload.isAt(buffer, 16)).toBe(false)
  expect(payload.end().equals(encodeFields([5]))).toBe(true)
})
