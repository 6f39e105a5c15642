/** Room in the journal for groups that are on their way and cannot wait: the outcomes of attempts.
 * Invariant: as long as they come as large as was said, there is room for each, also when it comes alone, and for the checkpoint that may
 * follow it, whoever appends meanwhile. What is kept beyond a segment has one more segment for certain, not two: that is
 * where more than 8000 attempts are under way, with segments of 64 MiB.
 *    // 1. the disk is full; an attempt begins, there is room for its outcome  2. endings, marks and checkpoints take it  3. delivered, and the
 *    // record enters a segment that is never made  4. crash: the mail goes out again
 * Pure: journal-writer.ts asks for it. */
import { commitBytesMin } from './commit-frame.js'
import { roundUpToBlock } from './segment.js'

/** Bytes of a group that is a batch of its own. */
export const aloneBytes = (groupBytes: number): number => roundUpToBlock(groupBytes + commitBytesMin)

export class KeptRoom {
  #bytes = 0
  #count = 0

  /** @param groupBytes the most that the group will be */
  keep(groupBytes: number): void {
    this.#bytes += aloneBytes(groupBytes)
    this.#count++
  }

  /** The group is there, or will not come. @param groupBytes as it was kept */
  giveUp(groupBytes: number): void {
    this.#bytes -= aloneBytes(groupBytes)
    this.#count--
  }

  /** Bytes for all that is kept, each with its checkpoint. */
  bytes(checkpointBytes: number): number {
    return this.#bytes + this.#count * aloneBytes(checkpointBytes)
  }
}
