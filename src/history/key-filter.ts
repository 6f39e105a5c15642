/** A Bloom filter of fixed size over the keys of a history file.
 * Invariant: a key that was added is always found; another one is found in few files of a hundred,
 * which are read in vain. */
import { crc32 } from '../base/checksum.js'

const filterBytes = 256 * 1024
const filterBits = filterBytes * 8
const hashCount = 4

export class KeyFilter {
  readonly bytes: Buffer

  /** @param bytes of a file; default: without a key */
  constructor(bytes: Buffer = Buffer.alloc(filterBytes)) {
    this.bytes = bytes
  }

  /** As it stands in a file. */
  get sealed(): Buffer {
    const seal = Buffer.alloc(4)
    seal.writeUInt32LE(crc32(this.bytes))
    return Buffer.concat([this.bytes, seal])
  }

  /** @returns undefined where a crash has cut it: that says nothing */
  static ofFile(sealed: Buffer): KeyFilter | undefined {
    if (sealed.length !== filterBytes + 4) return undefined
    const bytes = sealed.subarray(0, filterBytes)
    return sealed.readUInt32LE(filterBytes) === crc32(bytes) ? new KeyFilter(bytes) : undefined
  }

  add(key: string): void {
    for (const bit of bitsOf(key)) this.bytes[bit >>> 3]! |= 1 << (bit & 7)
  }

  mayHave(key: string): boolean {
    return bitsOf(key).every((bit) => (this.bytes[bit >>> 3]! & (1 << (bit & 7))) !== 0)
  }
}

/** FNV-1a with two offsets, combined: Kirsch and Mitzenmacher, "Less hashing, same performance". */
function bitsOf(key: string): number[] {
  let first = 0x811c9dc5
  let second = 0x2f0b4c47
  for (const octet of Buffer.from(key)) {
    first = Math.imul(first ^ octet, 0x01000193)
    second = Math.imul(second ^ octet, 0x01000193)
  }
  return Array.from({ length: hashCount }, (_, i) => (first + Math.imul(i, second | 1)) >>> 0).map(
    (hash) => ((hash ^ (hash >>> 15)) >>> 0) % filterBits,
  )
}
