/** The bytes of the write limit's file (FORMAT.md §1a): two slots, written in turn.
 * A slot is a block that says of up to four segments how far batches may reach.
 * Invariant: a slot counts only beside the one that the same life wrote just before it.
 *    1. the slots are of turns 4 and 5; a batch lies below the limit of turn 5
 *    2. turn 5 rots, or a write of an earlier life comes late and replaces it
 *    3. a start believes turn 4, and looks below its limit
 *    4. it does not find the batch */
import { crc32 } from '../base/checksum.js'
import { blockBytes } from './segment.js'

/** Length of the file, bytes. */
export const limitFileBytes: number = 2 * blockBytes

/** The limit of one segment. */
export interface SegmentLimit {
  readonly index: number
  readonly epoch: readonly [low: number, high: number]
  /** No batch ends behind it, bytes from the segment's beginning. */
  readonly limitBytes: number
}

export interface LimitSlot {
  /** The epoch of the first segment that the life made which writes the slot. */
  readonly epoch: readonly [low: number, high: number]
  /** A life's first write is of turns 1 and 2. */
  readonly turn: number
  readonly segments: readonly SegmentLimit[]
}

/** Where the slot of a turn lies in the file. */
export const limitSlotAt = (turn: number): number => ((turn - 1) % 2) * blockBytes

const magic = 'WBLIMIT\0'
const segmentsMax = 4
const headBytes = 24
const entryBytes = 20
const checkedBytes = headBytes + segmentsMax * entryBytes
/** Bytes of a slot, its checksum included; the rest of the block is zeroes. */
export const limitSlotBytes: number = checkedBytes + 4

/** @param segments at most 4 @returns the block of the slot */
export function encodeLimitSlot({ epoch, turn, segments }: LimitSlot): Buffer {
  const block = Buffer.alloc(blockBytes)
  block.write(magic, 0, 'latin1')
  writePair(block, epoch, 8)
  block.writeUInt32LE(turn, 16)
  block.writeUInt32LE(segments.length, 20)
  segments.forEach((segment, i) => {
    const at = headBytes + i * entryBytes
    writePair(block, [segment.index % 2 ** 32, Math.floor(segment.index / 2 ** 32)], at)
    writePair(block, segment.epoch, at + 8)
    block.writeUInt32LE(segment.limitBytes, at + 16)
  })
  block.writeUInt32LE(crc32(block.subarray(0, checkedBytes)), checkedBytes)
  return block
}

/** @param bytes the file's, as far as it reaches
 * @returns the slot that counts; undefined when none does */
export function decodeLimitSlots(bytes: Buffer): LimitSlot | undefined {
  const first = decodeSlot(bytes.subarray(0, blockBytes))
  const second = decodeSlot(bytes.subarray(blockBytes, limitFileBytes))
  if (first === undefined || second === undefined || !areOfTurns(first, second)) return undefined
  return first.turn > second.turn ? first : second
}

/** One was written just after the other, in the same life. */
const areOfTurns = (one: LimitSlot, other: LimitSlot): boolean =>
  one.epoch[0] === other.epoch[0] && one.epoch[1] === other.epoch[1] && Math.abs(one.turn - other.turn) === 1

function decodeSlot(block: Buffer): LimitSlot | undefined {
  if (block.length < blockBytes || block.toString('latin1', 0, magic.length) !== magic) return undefined
  if (block.readUInt32LE(checkedBytes) !== crc32(block.subarray(0, checkedBytes))) return undefined
  const count = Math.min(block.readUInt32LE(20), segmentsMax)
  const segments = Array.from({ length: count }, (_, i): SegmentLimit => {
    const at = headBytes + i * entryBytes
    const [low, high] = pairAt(block, at)
    return {
      index: low + high * 2 ** 32,
      epoch: pairAt(block, at + 8),
      limitBytes: block.readUInt32LE(at + 16),
    }
  })
  return { epoch: pairAt(block, 8), turn: block.readUInt32LE(16), segments }
}

function writePair(block: Buffer, [low, high]: readonly [number, number], at: number): void {
  block.writeUInt32LE(low, at)
  block.writeUInt32LE(high, at + 4)
}

const pairAt = (block: Buffer, at: number): [number, number] => [
  block.readUInt32LE(at),
  block.readUInt32LE(at + 4),
]
