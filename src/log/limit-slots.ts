/** The bytes of the write limit's file (FORMAT.md §1a): two slots, written in turn, each a block
 * that says of up to four segments how far batches may reach.
 * Invariant: a slot that was torn or has rotted makes both untrusted, as do two slots that were not
 * written one after the other. The one that is left may be
 * the older one, and a batch may lie beyond what it says. */
import { crc32 } from '../base/checksum.js'
import { blockBytes } from './segment.js'

export const limitFileBytes: number = 2 * blockBytes

/** Of one segment. */
export interface SegmentLimit {
  readonly index: number
  readonly epoch: readonly [low: number, high: number]
  /** No batch ends behind it, bytes from the segment's beginning. */
  readonly limitBytes: number
}

export interface LimitSlot {
  /** 1 for the first one written; the higher one counts. */
  readonly sequence: number
  readonly segments: readonly SegmentLimit[]
}

export interface LimitSlots {
  /** The newest slot that verifies, and its place in the file, 0 or 1. */
  readonly newest: (LimitSlot & { readonly slot: number }) | undefined
  /** Does each slot verify, one written behind the other? */
  readonly areTrusted: boolean
}

const magic = 'WBLIMIT\0'
const segmentsMax = 4
const headBytes = 24
const entryBytes = 20
const checkedBytes = headBytes + segmentsMax * entryBytes
/** Of a slot, its checksum included; the rest of the block is zeroes. */
export const limitSlotBytes: number = checkedBytes + 4

export function encodeLimitSlot({ sequence, segments }: LimitSlot): Buffer {
  const block = Buffer.alloc(blockBytes)
  block.write(magic, 0, 'latin1')
  block.writeBigUInt64LE(BigInt(sequence), 8)
  block.writeUInt32LE(segments.length, 16)
  segments.forEach(({ index, epoch, limitBytes }, i) => {
    const at = headBytes + i * entryBytes
    block.writeUInt32LE(index % 2 ** 32, at)
    block.writeUInt32LE(Math.floor(index / 2 ** 32), at + 4)
    block.writeUInt32LE(epoch[0], at + 8)
    block.writeUInt32LE(epoch[1], at + 12)
    block.writeUInt32LE(limitBytes, at + 16)
  })
  block.writeUInt32LE(crc32(block.subarray(0, checkedBytes)), checkedBytes)
  return block
}

/** @param bytes the file's, as far as it reaches */
export function decodeLimitSlots(bytes: Buffer): LimitSlots {
  const slots = [0, 1].map((slot) => decodeSlot(bytes.subarray(slot * blockBytes, (slot + 1) * blockBytes)))
  const [first, second] = slots
  const newer = (second?.sequence ?? 0) > (first?.sequence ?? 0) ? 1 : 0
  const newest = slots[newer]
  return {
    newest: newest === undefined ? undefined : { ...newest, slot: newer },
    areTrusted: areOfTurns(first, second, bytes),
  }
}

function areOfTurns(first: LimitSlot | undefined, second: LimitSlot | undefined, bytes: Buffer): boolean {
  if (first !== undefined && second !== undefined) return Math.abs(first.sequence - second.sequence) === 1
  // The first write went to the first slot, and the other one was never written.
  return first?.sequence === 1 && isBlank(bytes.subarray(blockBytes))
}

const isBlank = (block: Buffer): boolean => block.length === blockBytes && block.every((byte) => byte === 0)

function decodeSlot(block: Buffer): LimitSlot | undefined {
  if (block.length < blockBytes || block.toString('latin1', 0, magic.length) !== magic) return undefined
  if (block.readUInt32LE(checkedBytes) !== crc32(block.subarray(0, checkedBytes))) return undefined
  const count = Math.min(block.readUInt32LE(16), segmentsMax)
  const segments = Array.from({ length: count }, (_, i): SegmentLimit => {
    const at = headBytes + i * entryBytes
    return {
      index: block.readUInt32LE(at) + block.readUInt32LE(at + 4) * 2 ** 32,
      epoch: [block.readUInt32LE(at + 8), block.readUInt32LE(at + 12)],
      limitBytes: block.readUInt32LE(at + 16),
    }
  })
  return { sequence: Number(block.readBigUInt64LE(8)), segments }
}
