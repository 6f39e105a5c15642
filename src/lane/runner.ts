/** A lane's cursor: its envelopes in order, read from the log or handed over by the appender.
 * Invariant: every envelope before `position` has a start record; every one in [position, readFrom)
 * is in the ring or marked. So `position` is a restart position at any moment, and an unmarked
 * envelope behind it waits.
 *
 *          position            readFrom                 missedEnd
 *   started   │  in the ring      │  to be read from the log   │  handed over from here on
 *
 * Pure: engine/start/intake.ts reads and starts. */
import { nowhere, position, type Position } from '../base/position.js'
import { Ring } from '../base/ring.js'
import type { Envelope } from '../record/envelope.js'
import type { Marks } from './marks.js'

/** Candidates in memory, per lane. */
export const readAheadCountMax = 256
export const readAheadBytesMax = 524_288
const handedOverCountMax = 4096
/** Beyond it, data is read at delivery, and envelopes are read from the log. */
const handedOverBytesMax = 32 * 1024 * 1024

export interface Candidate {
  readonly position: Position
  /** Length of its frame. */
  readonly bytes: number
  /** Milliseconds since 1970 at which it was appended. */
  readonly timeMs: number
  readonly envelope: Envelope
  /** Its data, when it has just been appended and there was room for it. */
  readonly data: Buffer | undefined
  /** When it came into memory, by the monotonic clock; unused in a lane without an interval. */
  readonly seenAtMs: number
}

/** A class, because it is kept (base/README.md). */
class HeldCandidate implements Candidate {
  readonly position: Position
  readonly bytes: number
  readonly timeMs: number
  readonly envelope: Envelope
  readonly data: Buffer | undefined
  readonly seenAtMs: number

  constructor({ position: at, bytes, timeMs, envelope, seenAtMs }: Candidate, data: Buffer | undefined) {
    this.position = at
    this.bytes = bytes
    this.timeMs = timeMs
    this.envelope = envelope
    this.data = data
    this.seenAtMs = seenAtMs
  }
}

export class Runner {
  readonly #ring = new Ring<Candidate>()
  readonly #marks: Marks
  #readFrom: Position
  #missedEnd: Position = nowhere
  /** Envelopes and data of the ring. */
  #heldBytes = 0

  constructor(at: Position, marks: Marks) {
    this.#readFrom = at
    this.#marks = marks
  }

  /** Restart position. */
  get position(): Position {
    return this.#ring.peek()?.position ?? this.#readFrom
  }

  /** Where reading goes on. */
  get readFrom(): Position {
    return this.#readFrom
  }

  get readAheadCount(): number {
    return this.#ring.length
  }

  /** Must something be read before handed-over envelopes? */
  get isBehind(): boolean {
    return this.#readFrom < this.#missedEnd
  }

  /** When its first one in memory is due, milliseconds since 1970.
   * @param intervalMs of the lane */
  headDueAt(intervalMs: number): number | undefined {
    const head = this.#ring.peek()
    return head === undefined ? undefined : head.timeMs + intervalMs
  }

  /** Bytes of the log with waiting envelopes. */
  get waitingBytes(): number {
    const end = this.isBehind ? this.#missedEnd : this.#readFrom
    return this.isBehind || this.#ring.length > 0 ? end - this.position : 0
  }

  /** The appender hands over an envelope that it has just appended. Refused if earlier ones must be
   * read first, or memory is short. */
  handOver(candidate: Candidate): void {
    const end = position(candidate.position + candidate.bytes)
    const left = handedOverBytesMax - this.#heldBytes - candidate.bytes
    if (this.isBehind || this.#ring.length >= handedOverCountMax || left < 0) {
      this.missed(end)
      return
    }
    const dataBytes = candidate.data?.length ?? 0
    const keepsData = dataBytes <= left
    this.#heldBytes += candidate.bytes + (keepsData ? dataBytes : 0)
    // Even without its data it keeps the runner from falling behind, after which all later
    // envelopes would be read.
    this.#ring.push(new HeldCandidate(candidate, keepsData ? candidate.data : undefined))
    this.#readFrom = end
  }

  /** An envelope was appended that is to be read from the log. */
  missed(end: Position): void {
    this.#missedEnd = end
  }

  /** An envelope of the lane stands in the log at `readFrom` or behind. */
  found(candidate: Candidate): void {
    this.#readFrom = position(candidate.position + candidate.bytes)
    if (this.#marks.has(candidate.position)) return
    this.#heldBytes += candidate.bytes
    this.#ring.push(new HeldCandidate(candidate, candidate.data))
  }

  /** Nothing of the lane stands between `readFrom` and here. */
  readTo(end: Position): void {
    if (end > this.#readFrom) this.#readFrom = end
  }

  /** The log ends here: an envelope that is neither in the ring nor missed does not exist. */
  caughtUp(end: Position): void {
    if (this.#ring.length === 0 && !this.isBehind) this.readTo(end)
  }

  /** The first one in memory that satisfies the predicate, whether it may be started or not. */
  find(holds: (candidate: Candidate) => boolean): Candidate | undefined {
    for (let i = 0; i < this.#ring.length; i++) {
      const candidate = this.#ring.at(i)!
      if (holds(candidate)) return candidate
    }
    return undefined
  }

  /** The next one to start, if the log is trusted behind it. */
  peek(trustedEnd: Position): Candidate | undefined {
    for (let head = this.#ring.peek(); head !== undefined; head = this.#ring.peek()) {
      if (head.position + head.bytes > trustedEnd) return undefined
      if (!this.#marks.has(head.position)) return head
      this.take()
    }
    return undefined
  }

  /** The one that `peek` gave: its start is being appended in this step. */
  take(): Candidate {
    const head = this.#ring.shift()!
    this.#heldBytes -= head.bytes + (head.data?.length ?? 0)
    return head
  }
}
