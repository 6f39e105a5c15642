/** A frame verifies where it was sealed, and nowhere else. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  classAt,
  frameBytes,
  frameBytesAt,
  frameHeaderBytes,
  kindAt,
  kindName,
  kinds,
  payloadAt,
  payloadBytesMax,
  sealFrame,
  timeAt,
  verifyFrame,
  type Kind,
} from '../../src/record/frame.js'

const anyFrame = fc.record({
  payload: fc.uint8Array({ maxLength: 900, size: 'max' }),
  kind: fc.constantFrom(...Object.values(kinds)),
  lane: fc.nat(0xffff),
  timeMs: fc.oneof(fc.nat(), fc.integer({ min: 0, max: 2 ** 48 - 1 })),
  at: fc.nat(20).map((slots) => slots * 8),
  seed: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
})

function sealed(frame: {
  readonly payload: Uint8Array
  readonly kind: Kind
  readonly lane: number
  readonly timeMs: number
  readonly at: number
  readonly seed: number
}): Buffer {
  const { payload, kind, lane, timeMs, at, seed } = frame
  const buffer = Buffer.alloc(at + frameBytes(payload.length), 0xee)
  buffer.set(payload, at + frameHeaderBytes)
  sealFrame(buffer, at, kind, lane, timeMs, payload.length, seed)
  return buffer
}

test('what was sealed verifies and is read back', () => {
  fc.assert(
    fc.property(anyFrame, (frame) => {
      const buffer = sealed(frame)
      const { at, payload } = frame
      expect(verifyFrame(buffer, at, buffer.length, frame.seed)).toBe(buffer.length - at)
      expect(frameBytesAt(buffer, at)).toBe(buffer.length - at)
      expect([kindAt(buffer, at), classAt(buffer, at), timeAt(buffer, at)]).toEqual([
        frame.kind,
        frame.lane,
        frame.timeMs,
      ])
      expect(payloadAt(buffer, at)).toEqual(Buffer.from(payload))
      const zeroes = buffer.subarray(at + frameHeaderBytes + payload.length)
      expect(zeroes.every((byte) => byte === 0)).toBe(true)
    }),
  )
})

test('no bit of header or payload can turn over unnoticed', () => {
  fc.assert(
    fc.property(anyFrame, fc.nat(), (frame, bit) => {
      const buffer = sealed(frame)
      const covered = (frameHeaderBytes + frame.payload.length) * 8
      const at = frame.at + Math.floor((bit % covered) / 8)
      buffer[at]! ^= 1 << (bit % 8)
      expect(verifyFrame(buffer, frame.at, buffer.length, frame.seed)).toBe(0)
    }),
  )
})

test('what fills a frame up is zeroes, or it does not verify', () => {
  fc.assert(
    fc.property(anyFrame, fc.nat(), fc.integer({ min: 1, max: 255 }), (frame, place, byte) => {
      const end = frame.at + frameHeaderBytes + frame.payload.length
      const buffer = sealed(frame)
      fc.pre(end < buffer.length)
      buffer[end + (place % (buffer.length - end))] = byte
      expect(verifyFrame(buffer, frame.at, buffer.length, frame.seed)).toBe(0)
    }),
  )
})

test('a frame with another seed, or beyond the bound, does not verify', () => {
  fc.assert(
    fc.property(anyFrame, fc.integer({ min: 1, max: 2 ** 31 - 1 }), (frame, other) => {
      const buffer = sealed(frame)
      expect(verifyFrame(buffer, frame.at, buffer.length, frame.seed ^ other)).toBe(0)
      expect(verifyFrame(buffer, frame.at, buffer.length - 1, frame.seed)).toBe(0)
    }),
  )
})

test('zeroes and kinds that nobody knows are no frame, whatever their checksum', () => {
  expect(verifyFrame(Buffer.alloc(64), 0, 64, 0)).toBe(0)
  for (const kind of [0, 14, 255]) {
    const buffer = sealed({
      payload: Buffer.from('x'),
      kind: kind as Kind,
      lane: 0,
      timeMs: 0,
      at: 0,
      seed: 5,
    })
    expect(verifyFrame(buffer, 0, buffer.length, 5)).toBe(0)
  }
})

test('a frame at its longest is sealed and verified', () => {
  const frame = {
    payload: Buffer.alloc(payloadBytesMax, 7),
    kind: kinds.data,
    lane: 1,
    timeMs: 1,
    at: 0,
    seed: 9,
  }
  const buffer = sealed(frame)
  expect(verifyFrame(buffer, 0, buffer.length, 9)).toBe(frameBytes(payloadBytesMax))
})

test('names and numbers of kinds belong together', () => {
  for (const [name, kind] of Object.entries(kinds)) expect(kindName(kind)).toBe(name)
  expect(kindName(0)).toBeUndefined()
  expect(kindName(14)).toBeUndefined()
})
