/** Counts the segments that active messages hold, and says which are garbage.
 * Invariant: a segment is released only by a durable checkpoint that was captured after the last
 * message gave it up.
 *   1. a finish is appended
 *   2. the segment is recycled
 *   3. a power loss takes the finish
 *   4. the message is active again, without its data
 * A message gives up its pins when its finish or replacement is appended. `capture` collects those
 * pins, and `confirm` releases them. */
import { assert } from '../base/assert.js'

/** How many messages hold a segment, and how many of these have given it up since the last
 * capture. */
interface Pin {
  readonly index: number
  heldCount: number
  releasedCount: number
}

/** The segments of one log: which exist, and how many active messages hold each. */
export class SegmentPins {
  readonly #pins = new Map<number, Pin>()
  readonly #existing = new Set<number>()
  /** The last one asked for: mostly it is asked for next. */
  #recent: Pin | undefined

  /** A segment was created. */
  add(index: number): void {
    this.#existing.add(index)
  }

  pin(index: number): void {
    this.#of(index).heldCount++
  }

  /** Given up, as of the next capture. */
  release(index: number): void {
    this.#of(index).releasedCount++
  }

  /** Takes what was given up until now: a checkpoint is being captured.
   * @returns index, how often, index, … */
  capture(): readonly number[] {
    const released: number[] = []
    for (const pin of this.#pins.values()) {
      if (pin.releasedCount > 0) released.push(pin.index, pin.releasedCount)
      pin.releasedCount = 0
    }
    return released
  }

  /** The checkpoint is durable. Returns the segments that are garbage, and forgets them.
   * @param released what `capture` returned for it
   * @param floor no reader needs segments below this index */
  confirm(released: readonly number[], floor: number): number[] {
    for (let i = 0; i < released.length; i += 2) {
      const pin = this.#of(released[i]!)
      pin.heldCount -= released[i + 1]!
      assert(pin.heldCount >= pin.releasedCount, 'what is given up was held')
      if (pin.heldCount === 0) this.#forget(pin)
    }
    const garbage: number[] = []
    for (const index of this.#existing) if (index < floor && !this.isPinned(index)) garbage.push(index)
    for (const index of garbage) this.#existing.delete(index)
    return garbage
  }

  isPinned(index: number): boolean {
    return (this.#pins.get(index)?.heldCount ?? 0) > 0
  }

  /** Segments below an index that are held, and by how many messages.
   * @returns pairs of index and number */
  *heldBelow(floor: number): Iterable<readonly [number, number]> {
    for (const { index, heldCount, releasedCount } of this.#pins.values())
      if (index < floor && heldCount > releasedCount) yield [index, heldCount - releasedCount]
  }

  get hasPins(): boolean {
    for (const { heldCount } of this.#pins.values()) if (heldCount > 0) return true
    return false
  }

  get existingCount(): number {
    return this.#existing.size
  }

  #of(index: number): Pin {
    if (this.#recent?.index === index) return this.#recent
    let pin = this.#pins.get(index)
    if (pin === undefined) this.#pins.set(index, (pin = { index, heldCount: 0, releasedCount: 0 }))
    return (this.#recent = pin)
  }

  #forget(pin: Pin): void {
    this.#pins.delete(pin.index)
    if (this.#recent === pin) this.#recent = undefined
  }
}

/** What was given up before a checkpoint was captured, by log. */
export type CapturedPins = ReadonlyMap<number, readonly number[]>

/** The pins of all logs of a queue. */
export class Garbage {
  readonly #logs = new Map<number, SegmentPins>()

  /** @param log the log's number */
  of(log: number): SegmentPins {
    let pins = this.#logs.get(log)
    if (pins === undefined) this.#logs.set(log, (pins = new SegmentPins()))
    return pins
  }

  capture(): CapturedPins {
    const captured = new Map<number, readonly number[]>()
    for (const [log, pins] of this.#logs) captured.set(log, pins.capture())
    return captured
  }

  /** A log is gone. */
  drop(log: number): void {
    this.#logs.delete(log)
  }
}
