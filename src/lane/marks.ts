/** Envelopes that were started out of order and that the runner has not reached.
 * Invariant: a mark is in a `marks` record of a durable checkpoint, or its start is in the working
 * suffix, so no crash lets the runner start an envelope twice. A mark stays until the runner has
 * passed it: an unmarked envelope ahead of the runner waits. The lane stands still until the
 * records of earlier lives are read.
 * Memory: a bit for each place where a frame can begin, in chunks that are made for their first
 * mark: at most a sixty-fourth of the waiting part of the log. */
import { nowhere, type Position } from '../base/position.js'

/** Frames begin on multiples of this. */
const alignmentBytes = 8
/** Bytes of log that one chunk covers. */
const chunkBytes = 65_536
const wordsPerChunk = chunkBytes / alignmentBytes / 32

interface Chunk {
  readonly words: Uint32Array
  count: number
  /** The snapshot after which it was made: older ones share it. */
  readonly generation: number
}

/** Marks as they were at one moment. */
export interface MarksThen {
  has(envelope: Position): boolean
}

export class Marks {
  readonly #chunks = new Map<number, Chunk>()
  #fresh: Position[] = []
  #count = 0
  #generation = 0
  /** The lane's newest `marks` record. */
  lastRecord: Position
  /** The newest record of earlier lives until all of them are restored; then `nowhere`. */
  #unread: Position

  constructor(lastRecord: Position = nowhere) {
    this.lastRecord = lastRecord
    this.#unread = lastRecord
  }

  get unread(): Position {
    return this.#unread
  }

  /** All marks of earlier lives are here. */
  get areKnown(): boolean {
    return this.#unread === nowhere
  }

  /** Marked now, if it was not before; the next checkpoint appends it. */
  add(envelope: Position): void {
    if (this.restore(envelope)) this.#fresh.push(envelope)
  }

  /** Restores all marks of earlier lives. */
  restoreAll(marked: readonly Position[]): void {
    for (const envelope of marked) this.restore(envelope)
    this.#unread = nowhere
  }

  /** Marked by a record that the checkpoint names. @returns false if it was marked already */
  restore(envelope: Position): boolean {
    const index = Math.floor(envelope / chunkBytes)
    const chunk = this.#chunkForWriting(index)
    const place = (envelope % chunkBytes) / alignmentBytes
    const word = chunk.words[place >>> 5]!
    const bit = 1 << (place & 31)
    if ((word & bit) !== 0) return false
    chunk.words[place >>> 5] = word | bit
    chunk.count++
    this.#count++
    return true
  }

  has(envelope: Position): boolean {
    return this.#count > 0 && isMarked(this.#chunks, envelope)
  }

  /** The marks of this moment, for a reader of the lane's present contents. */
  snapshot(): MarksThen {
    this.#generation++
    const chunks = new Map(this.#chunks)
    return { has: (envelope) => isMarked(chunks, envelope) }
  }

  /** The runner's position is here: marks behind it need no record, and chunks behind
   * it are released. */
  passed(runner: Position): void {
    if (this.#fresh.length > 0) this.#fresh = this.#fresh.filter((envelope) => envelope >= runner)
    const floor = Math.floor(runner / chunkBytes)
    for (const [index, { count }] of this.#chunks) {
      if (index >= floor) continue
      this.#chunks.delete(index)
      this.#count -= count
    }
  }

  /** Kept marks, a few that the runner has passed among them. */
  get count(): number {
    return this.#count
  }

  /** Marks in no record yet. */
  get freshCount(): number {
    return this.#fresh.length
  }

  /** At most `countMax` of them, to be appended now. */
  takeFresh(countMax: number): readonly Position[] {
    return this.#fresh.splice(0, countMax)
  }

  #chunkForWriting(index: number): Chunk {
    const known = this.#chunks.get(index)
    if (known?.generation === this.#generation) return known
    const words = known?.words.slice() ?? new Uint32Array(wordsPerChunk)
    const chunk = { words, count: known?.count ?? 0, generation: this.#generation }
    this.#chunks.set(index, chunk)
    return chunk
  }
}

function isMarked(chunks: ReadonlyMap<number, Chunk>, envelope: Position): boolean {
  const chunk = chunks.get(Math.floor(envelope / chunkBytes))
  if (chunk === undefined) return false
  const place = (envelope % chunkBytes) / alignmentBytes
  return (chunk.words[place >>> 5]! & (1 << (place & 31))) !== 0
}
