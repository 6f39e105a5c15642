/** A segment: a file of fixed size with a range of its log's positions (FORMAT.md §1).
 * position = index × segmentBytes + offset in the file. The first block is the header.
 * Invariant: frames of a recycled file's earlier life never verify: the header's epoch is drawn
 * anew each time a file becomes a segment, and seeds every checksum. */
import { crc32 } from '../base/checksum.js'
import { position, type Position } from '../base/position.js'
import { WaybillError, type Place } from '../errors.js'

/** Batches are padded to a multiple of this, so that no later write touches a block with settled
 * bytes. */
export const blockBytes = 4096
export const segmentHeaderBytes = 4096
export const formatVersion = 2

const magic = 'WAYBILL\0'
const checkedBytes = 44

export interface SegmentHeader {
  /** 0 is the journal; lane n has 2n (envelopes) and 2n + 1 (data). */
  readonly log: number
  readonly index: number
  readonly segmentBytes: number
  /** 64 random bits in two halves. */
  readonly epoch: readonly [low: number, high: number]
  /** The life in which the file became this segment. */
  readonly life: number
}

/** The contents of a header. */
export interface ReadSegmentHeader extends SegmentHeader {
  readonly version: number
}

/** The first block of a segment, 4096 bytes: FORMAT.md §1. */
export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const block = Buffer.alloc(segmentHeaderBytes)
  block.write(magic, 0, 'latin1')
  block.writeUInt32LE(formatVersion, 8)
  block.writeUInt32LE(header.log, 12)
  block.writeBigUInt64LE(BigInt(header.index), 16)
  block.writeUInt32LE(header.segmentBytes, 24)
  block.writeUInt32LE(header.life, 28)
  block.writeUInt32LE(header.epoch[0], 32)
  block.writeUInt32LE(header.epoch[1], 36)
  block.writeUInt32LE(crc32(block.subarray(0, 40)), 40)
  return block
}

/** @throws WaybillError LOG_CORRUPT if this is no segment's header, FORMAT_NEWER if a later
 * version wrote it. */
export function decodeSegmentHeader(block: Buffer, place: Place): ReadSegmentHeader {
  if (block.length < checkedBytes || block.toString('latin1', 0, 8) !== magic)
    throw new WaybillError('LOG_CORRUPT', 'the file is no segment', place)
  // First, because it is the same in every version: a rotten version field must not look like a
  // later version.
  if (block.readUInt32LE(40) !== crc32(block.subarray(0, 40)))
    throw new WaybillError('LOG_CORRUPT', 'the checksum of the segment header is wrong', place)
  const version = block.readUInt32LE(8)
  if (version > formatVersion)
    throw new WaybillError(
      'FORMAT_NEWER',
      `the segment has format ${version}, this program knows ${formatVersion}`,
      place,
    )
  return {
    version,
    log: block.readUInt32LE(12),
    index: Number(block.readBigUInt64LE(16)),
    segmentBytes: block.readUInt32LE(24),
    life: block.readUInt32LE(28),
    epoch: [block.readUInt32LE(32), block.readUInt32LE(36)],
  }
}

/** The seed of a frame is this XOR the frame's offset in the segment: no two places of a log share
 * one by design, and two epochs only by chance of 2⁻³². */
export function segmentSeed(log: number, index: number, epoch: readonly [number, number]): number {
  const identity = Buffer.alloc(20)
  identity.writeUInt32LE(log, 0)
  identity.writeBigUInt64LE(BigInt(index), 4)
  identity.writeUInt32LE(epoch[0], 12)
  identity.writeUInt32LE(epoch[1], 16)
  return crc32(identity)
}

const namePattern = /^([0-9a-f]{12})\.log$/

/** The file name of a segment. Names sort like indexes. */
export const segmentName = (index: number): string => `${index.toString(16).padStart(12, '0')}.log`

/** @returns undefined when it is no segment's name */
export function segmentIndexOf(name: string): number | undefined {
  const digits = namePattern.exec(name)?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 16)
}

/** The grid of one log: which segment a position lies in, and where. */
export class SegmentGrid {
  readonly segmentBytes: number

  /** @param segmentBytes a multiple of 4096, at least 4 blocks */
  constructor(segmentBytes: number) {
    this.segmentBytes = segmentBytes
  }

  /** The index of the segment with this position. */
  indexOf(at: Position): number {
    return Math.floor(at / this.segmentBytes)
  }

  /** The offset in that segment, bytes; its header counts. */
  offsetOf(at: Position): number {
    return at % this.segmentBytes
  }

  /** The position at an offset in a segment. */
  at(index: number, offsetBytes: number): Position {
    return position(index * this.segmentBytes + offsetBytes)
  }

  /** The position of a segment's first frame. */
  firstOf(index: number): Position {
    return this.at(index, segmentHeaderBytes)
  }
}

/** Bytes up to the next multiple of 4096. */
export const roundUpToBlock = (bytes: number): number => Math.ceil(bytes / blockBytes) * blockBytes
