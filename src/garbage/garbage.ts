/** The pins of all logs of a queue. */
import { SegmentPins } from './pins.js'

/** What was given up before a checkpoint was captured, by log. */
export type CapturedPins = ReadonlyMap<number, readonly number[]>

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
