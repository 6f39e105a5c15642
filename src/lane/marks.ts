/** Envelopes that were started out of order and that the runner has not reached.
 * Invariant: a mark is in a `marks` record of the checkpoint that vouches for its start's effect, or its start is in the working
 * suffix; so no crash lets the runner start an envelope twice. A mark stays until the runner's position is behind it: what lies
 * ahead of that position and is not marked waits.
 * Until the records of earlier lives are read it is not known what waits: the lane stands still.
 * A bit for each place where a frame can begin, in chunks that come with their first mark: memory is at most a sixty-fourth
 * of what waits in the log, however many are marked. */
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
  /** The newest record of earlier lives, as long as it and those before it are not restored; `nowhere` then. */
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

  /** Restores what the records of earlier lives name, all of it. */
  restoreAll(marked: readonly Position[]): void {
    for (const envelope of marked) this.restore(envelope)
    this.#unread = nowhere
  }

  /** Marked by a record that the checkpoint names. @returns false when it was marked already */
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

  /** The marks of this moment, for who reads the lane as it is now. */
  snapshot(): MarksThen {
    this.#generation++
    const chunks = new Map(this.#chunks)
    return { has: (envelope) => isMarked(chunks, envelope) }
  }

  /** The runner's position is here: marks behind it need no record, and those chunks behind it are forgotten. */
  passed(runner: Position): void {
    if (this.#fresh.length > 0) this.#fresh = this.#fresh.filter((envelope) => envelope >= runner)
    const floor = Math.floor(runner / chunkBytes)
    for (const [index, { count }] of this.#chunks) {
      if (index >= floor) continue
      this.#chunks.delete(index)
      this.#count -= count
    }
  }

  /** Those that are kept: a few that the runner has passed are among them. */
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
