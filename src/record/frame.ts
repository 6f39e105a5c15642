/** A frame: one record on disk, 8-byte aligned, little-endian (FORMAT.md §2).
 *
 *     0        4            7    8      10                16
 *     │ crc 4  │ length 3   │kind│class2│ time 6          │ payload … │ zeroes to 8
 *
 * Valid at an offset of a segment when (1) kind is known and the frame ends within the bounds, (2)
 * crc is the CRC-32 of bytes 4 … 16+length, seeded with the segment's seed XOR the offset, and (3)
 * the zeroes are zeroes. The seed comes from log, segment and epoch: a frame of another place never
 * verifies. Kind 0 is invalid: zeroes end what was written. */
import { crc32Joined, crc32Of, zlibFromBytes } from '../base/checksum.js'

export const frameHeaderBytes = 16
/** 2²⁴ − 1: the maximum of three bytes. */
export const payloadBytesMax = 0xff_ffff

export const kinds = {
  envelope: 1,
  data: 2,
  recipients: 3,
  start: 4,
  delivery: 5,
  finish: 6,
  replaced: 7,
  marks: 8,
  checkpoint: 9,
  commit: 10,
  pad: 11,
  keys: 12,
  outcome: 13,
} as const

export type KindName = keyof typeof kinds
export type Kind = (typeof kinds)[KindName]

const kindMax = kinds.outcome

export const kindName = (kind: number): KindName | undefined =>
  (Object.keys(kinds) as KindName[]).find((name) => kinds[name] === kind)

/** Bytes that a frame with this payload takes, padding included. */
export const frameBytes = (payloadBytes: number): number => (frameHeaderBytes + payloadBytes + 7) & ~7

export const payloadBytesAt = (buffer: Buffer, at: number): number =>
  buffer[at + 4]! | (buffer[at + 5]! << 8) | (buffer[at + 6]! << 16)

export const frameBytesAt = (buffer: Buffer, at: number): number => frameBytes(payloadBytesAt(buffer, at))

export const kindAt = (buffer: Buffer, at: number): number => buffer[at + 7]!

/** Can a frame begin there? What it says of its length means nothing otherwise. */
export const isKindAt = (buffer: Buffer, at: number): boolean => {
  const kind = kindAt(buffer, at)
  return kind > 0 && kind <= kindMax
}

/** The lane that the record belongs to. */
export const classAt = (buffer: Buffer, at: number): number => buffer[at + 8]! | (buffer[at + 9]! << 8)

/** Milliseconds since 1970. */
export const timeAt = (buffer: Buffer, at: number): number =>
  buffer.readUInt32LE(at + 10) + (buffer[at + 14]! | (buffer[at + 15]! << 8)) * 0x1_0000_0000

export const payloadAt = (buffer: Buffer, at: number): Buffer =>
  buffer.subarray(at + frameHeaderBytes, at + frameHeaderBytes + payloadBytesAt(buffer, at))

/** Byte by byte: V8 looks up a method of Buffer at each call, and makes an object of a
 * number beyond 2³¹. */
function putUint32(buffer: Buffer, at: number, value: number): void {
  buffer[at] = value
  buffer[at + 1] = value >>> 8
  buffer[at + 2] = value >>> 16
  buffer[at + 3] = value >>> 24
}

/** Puts header and checksum around a payload that already stands at `at` + 16, and zeroes behind
 * it.
 * @param seed the segment's seed XOR the offset of this frame in its segment
 * @param checksum CRC-32 of the payload, where it is known: a long one is not read again */
export function sealFrame(
  buffer: Buffer,
  at: number,
  kind: Kind,
  lane: number,
  timeMs: number,
  payloadBytes: number,
  seed: number,
  checksum?: number,
): void {
  buffer[at + 4] = payloadBytes
  buffer[at + 5] = payloadBytes >>> 8
  buffer[at + 6] = payloadBytes >>> 16
  buffer[at + 7] = kind
  buffer[at + 8] = lane
  buffer[at + 9] = lane >>> 8
  const timeHigh = Math.floor(timeMs / 0x1_0000_0000)
  putUint32(buffer, at + 10, timeMs >>> 0)
  buffer[at + 14] = timeHigh
  buffer[at + 15] = timeHigh >>> 8
  const end = at + frameHeaderBytes + payloadBytes
  for (let i = end; (i & 7) !== (at & 7); i++) buffer[i] = 0
  const crc =
    checksum === undefined || payloadBytes < zlibFromBytes
      ? crc32Of(buffer, at + 4, end, seed)
      : crc32Joined(crc32Of(buffer, at + 4, at + frameHeaderBytes, seed), checksum, payloadBytes)
  putUint32(buffer, at, crc)
}

/** Bytes of the valid frame at `at`, padding included, or 0.
 * @param end the frame must end here or before */
export function verifyFrame(buffer: Buffer, at: number, end: number, seed: number): number {
  if (at + frameHeaderBytes > end || !isKindAt(buffer, at)) return 0
  const payloadBytes = payloadBytesAt(buffer, at)
  const bytes = frameBytes(payloadBytes)
  if (at + bytes > end) return 0
  const crc = crc32Of(buffer, at + 4, at + frameHeaderBytes + payloadBytes, seed)
  if (crc !== buffer.readUInt32LE(at)) return 0
  for (let i = at + frameHeaderBytes + payloadBytes; i < at + bytes; i++) if (buffer[i] !== 0) return 0
  return bytes
}
