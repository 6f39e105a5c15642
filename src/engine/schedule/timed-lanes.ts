/** Timed lanes: lanes for messages that wait for a time, each made when the first message needs it.
 * Invariant: nothing is appended to a lane before a durable checkpoint names it:
 *   1. a lane of 4 s is made, and a message replaced to it; its note is durable
 *   2. crash: no checkpoint names the lane, and its number is given to one of 12 days
 *   3. recovery replaces the message again, to the lane that the note names: it waits for days
 * Why on demand: a queue without such mail has no files for it, and no step of it looks at them. */
import { makeLaneDirectory } from '../../directory/lane-directories.js'
import { lanesDirectory } from '../../directory/paths.js'
import { isWaybillError } from '../../errors.js'
import type { Lane } from '../../lane/lane.js'
import { planLane } from '../../lane/lane-plan.js'
import type { Parts } from '../life/parts.js'
import { timedIntervalsMs } from './timed-wait.js'

export interface TimedLanesOptions {
  /** Settles when a checkpoint that is captured after the call is durable.
   * @throws WaybillError DISK_FULL by rejection */
  readonly checkpoint: () => Promise<void>
  readonly onLane: (lane: Lane) => void
}

export class TimedLanes {
  readonly #parts: Parts
  readonly #options: TimedLanesOptions
  readonly #ready = new Map<number, Lane>()
  /** Made, and in no durable checkpoint yet. */
  readonly #made = new Map<number, Lane>()
  /** One lane is made at a time. */
  #making: Promise<unknown> = Promise.resolve()

  constructor(parts: Parts, options: TimedLanesOptions) {
    this.#parts = parts
    this.#options = options
  }

  /** The lane of this interval, or of the next shorter one that is not damaged.
   * @throws WaybillError DISK_FULL, DISK_FAILED, QUEUE_CRASHED by rejection: it can be
   * asked for again */
  async lane(intervalMs: number): Promise<Lane> {
    let damaged: Lane | undefined
    for (const each of timedIntervalsMs.filter((ms) => ms <= intervalMs).reverse()) {
      const lane = this.#ready.get(each) ?? (await this.#inTurn(each))
      if (lane.damage === undefined || isWaybillError(lane.damage, 'DISK_FAILED')) return lane
      damaged ??= lane
    }
    return damaged!
  }

  #inTurn(intervalMs: number): Promise<Lane> {
    const made = this.#making.then(() => this.#ready.get(intervalMs) ?? this.#make(intervalMs))
    this.#making = made.catch(() => undefined)
    return made
  }

  async #make(intervalMs: number): Promise<Lane> {
    const { life, lanes } = this.#parts
    life.check()
    const known = this.#known(intervalMs)
    if (known !== undefined) {
      // In this step: an empty lane that nobody wants is taken out of the next checkpoint.
      known.wanted = true
      this.#ready.set(intervalMs, known)
      return known
    }
    let lane = this.#made.get(intervalMs)
    if (lane === undefined) {
      lane = await life.orEnd(this.#open(intervalMs))
      life.check()
      lanes.add(lane)
      this.#made.set(intervalMs, lane)
      this.#options.onLane(lane)
    }
    await life.orEnd(this.#options.checkpoint())
    this.#made.delete(intervalMs)
    this.#ready.set(intervalMs, lane)
    return lane
  }

  /** One that checkpoints name already: of an earlier life, or of the policy. */
  #known(intervalMs: number): Lane | undefined {
    for (const lane of this.#parts.lanes)
      if (
        lane.kind === 'retry' &&
        lane.intervalMs === intervalMs &&
        lane.logs !== undefined &&
        !lane.isRetired &&
        this.#made.get(intervalMs) !== lane
      )
        return lane
    return undefined
  }

  async #open(intervalMs: number): Promise<Lane> {
    const { lanes, options, openLane, laneSegmentBytes } = this.#parts
    const { disk } = options
    const present = new Set((await disk.list(lanesDirectory)).map(Number))
    const { positions, laneNext } = planLane([...lanes], lanes.laneNext, intervalMs, {
      laneSegmentBytes,
      present,
    })
    lanes.laneNext = laneNext
    await makeLaneDirectory(disk, positions.lane)
    await disk.syncDirectory(lanesDirectory)
    return openLane(positions)
  }
}
