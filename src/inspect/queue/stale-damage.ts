/** Decides whether an unreadable place is still needed, or a running relay has moved the message.
 * Invariant: "still there" comes only from a look that began after the question; "gone" from any
 * look, because nothing returns to its place. */
import { position, type Position } from '../../base/position.js'
import { isDamage } from '../damage/finding.js'
import type { QueueDirectory } from './queue-directory.js'
import { takeSnapshot, type LaneView, type Snapshot } from './snapshot.js'

export class Presence {
  readonly #directory: QueueDirectory
  #latest: Snapshot
  #active: ReadonlySet<string>

  constructor(directory: QueueDirectory, snapshot: Snapshot) {
    this.#directory = directory
    this.#latest = snapshot
    this.#active = placesOf(snapshot)
  }

  /** A message by the place of its envelope, being worked on or waiting. */
  async isThere(lane: number, at: Position): Promise<boolean> {
    if (!this.#has(lane, at)) return false
    return (await this.#renew()) ? this.#has(lane, at) : true
  }

  /** Messages in a lane wait behind this position now; undefined if the lane is gone. */
  async runnerOf(lane: number): Promise<Position | undefined> {
    await this.#renew()
    return this.#view(lane)?.runner
  }

  /** Nothing was appended since the latest look. */
  async isStill(): Promise<boolean> {
    return !(await this.#renew())
  }

  /** The queue as of a look that began after the call, or after which nothing was appended. */
  async now(): Promise<Snapshot> {
    await this.#renew()
    return this.#latest
  }

  #has(lane: number, at: Position): boolean {
    if (this.#active.has(`${lane} ${at}`)) return true
    const view = this.#view(lane)
    return view !== undefined && at >= view.runner && !view.marks.has(at)
  }

  #view(lane: number): LaneView | undefined {
    return this.#latest.lanes.find((view) => view.lane === lane)
  }

  /** @returns false when nothing was appended since the latest look */
  async #renew(): Promise<boolean> {
    if (!(await hasMoved(this.#directory, this.#latest))) return false
    this.#latest = await takeSnapshot(this.#directory)
    this.#active = placesOf(this.#latest)
    return true
  }
}

const placesOf = ({ working }: Snapshot): Set<string> =>
  new Set(working.map(({ place }) => `${place.lane} ${place.position}`))

/** Are there other segments than before, or does something stand behind the journal's end, or in
 * the segment behind its newest? */
async function hasMoved(directory: QueueDirectory, { journal }: Snapshot): Promise<boolean> {
  const files = directory.log('journal')
  const { grid } = files
  const indexes = await directory.segments('journal')
  if (indexes.length !== journal.indexes.length || indexes.some((index, i) => index !== journal.indexes[i]))
    return true
  const places = [grid.firstOf(journal.newest + 1)]
  if (journal.end > 0 && grid.offsetOf(journal.end) > 0) places.push(position(journal.end))
  for (const at of places) {
    try {
      await files.frame(at)
      return true
    } catch (error) {
      if (!isDamage(error)) throw error
    } finally {
      await files.forget(grid.indexOf(at))
    }
  }
  return false
}
