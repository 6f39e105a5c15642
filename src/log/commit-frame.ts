/** The frame that ends a batch (FORMAT.md §3). It is long enough to end on a block boundary:
 *
 *   │ header 16 │ previous end 8 │ checksum 4 │ checkpoint 4 │ zeroes │ own length 4 │
 *
 * so it can be found from either side. `previous end` is the end of the commit before it, maybe
 * in another segment. The checksum is the CRC-32 of the checksums of the batch's frames, so no
 * byte is read twice. `checkpoint` is the place of the segment's newest one, so that a start
 * finds it at once. */
import { crc32Of } from '../base/checksum.js'
import { position, type Position } from '../base/position.js'
import { frameHeaderBytes, kindAt, kinds, payloadBytesAt, sealFrame, verifyFrame } from '../record/frame.js'
import { blockBytes } from './segment.js'

const fixedBytes = 24
/** The shortest commit frame, bytes. */
export const commitBytesMin: number = frameHeaderBytes + fixedBytes
/** Earlier releases had no field for the checkpoint. */
const commitBytesLeast = frameHeaderBytes + 16

/** Bytes of the commit frame that follows when a segment is filled up to this offset. */
export function commitBytesAt(offsetBytes: number): number {
  const left = blockBytes - (offsetBytes % blockBytes)
  return left < commitBytesMin ? left + blockBytes : left
}

export interface Commit {
  readonly previousEnd: Position
  readonly checksum: number
  /** Offset in the segment of the newest checkpoint before the end of the batch; 0 in frames of
   * earlier releases. */
  readonly checkpoint: number
}

/** The checksum of a batch, from that of the frames before this one, which is sealed. */
export type BatchChecksum = (before: number, buffer: Buffer, frameAt: number, frameBytes: number) => number

/** The checksum of a batch with one more frame: the CRC-32 of the frames' checksums. */
export const checksumWith = (before: number, buffer: Buffer, frameAt: number): number =>
  crc32Of(buffer, frameAt, frameAt + 4, before)

/** In format 1 it was the CRC-32 of all bytes, so data was read twice. */
const checksumOfBytes: BatchChecksum = (before, buffer, frameAt, frameBytes) =>
  crc32Of(buffer, frameAt, frameAt + frameBytes, before)

/** The checksum that batches of a segment have, by the version in its header. */
export const batchChecksum = (version: number): BatchChecksum =>
  version === 1 ? checksumOfBytes : checksumWith

/** Writes the commit frame behind `used` bytes of a batch. Returns the bytes of the whole batch.
 * @param offsetBytes the batch's offset in its segment */
export function sealBatch(
  batch: Buffer,
  used: number,
  offsetBytes: number,
  seed: number,
  timeMs: number,
  { previousEnd, checksum, checkpoint }: Commit,
): number {
  const bytes = commitBytesAt(offsetBytes + used)
  batch.fill(0, used, used + bytes)
  const payload = used + frameHeaderBytes
  batch.writeBigUInt64LE(BigInt(previousEnd), payload)
  batch.writeUInt32LE(checksum, payload + 8)
  batch.writeUInt32LE(checkpoint, payload + 12)
  batch.writeUInt32LE(bytes, used + bytes - 4)
  sealFrame(batch, used, kinds.commit, 0, timeMs, bytes - frameHeaderBytes, seed ^ (offsetBytes + used))
  return used + bytes
}

/** Reads a commit frame that has been verified. */
export const commitAt = (buffer: Buffer, at: number): Commit =>
  readCommit(buffer, at + frameHeaderBytes, payloadBytesAt(buffer, at))

/** Decodes the payload of a commit frame that has been verified. */
export const decodeCommit = (payload: Buffer): Commit => readCommit(payload, 0, payload.length)

const readCommit = (buffer: Buffer, at: number, payloadBytes: number): Commit => ({
  previousEnd: position(Number(buffer.readBigUInt64LE(at))),
  checksum: buffer.readUInt32LE(at + 8),
  checkpoint: payloadBytes < fixedBytes ? 0 : buffer.readUInt32LE(at + 12),
})

/** The start of the valid commit frame that ends at `end` in the buffer, or −1.
 * @param offsetBytes offset in the segment of the buffer's first byte */
export function commitEndingAt(buffer: Buffer, end: number, offsetBytes: number, seed: number): number {
  const bytes = buffer.readUInt32LE(end - 4)
  const at = end - bytes
  if (bytes < commitBytesLeast || bytes >= blockBytes + commitBytesMin || at < 0 || bytes % 8 !== 0) return -1
  if (kindAt(buffer, at) !== kinds.commit) return -1
  return verifyFrame(buffer, at, end, seed ^ (offsetBytes + at)) === bytes ? at : -1
}
