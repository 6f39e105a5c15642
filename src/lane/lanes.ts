/** The lanes of this life, by number and by interval. */
import { assert } from '../base/assert.js'
import { isWaybillError } from '../errors.js'
import { holdLane, incomingLane, type Lane } from './lane.js'
import { nearestInterval } from './lane-plan.js'

export class Lanes {
  readonly #lanes = new Map<number, Lane>()
  readonly #byInterval = new Map<number, Lane>()
  /** Gives the next new lane its number (lane-plan.ts). */
  laneNext: number

  constructor(lanes: readonly Lane[], laneNext: number) {
    this.laneNext = laneNext
    for (const lane of lanes) {
      this.#lanes.set(lane.number, lane)
      if (lane.kind === 'retry' && lane.wanted) this.#byInterval.set(lane.intervalMs, lane)
    }
  }

  get incoming(): Lane {
    return this.get(incomingLane)
  }

  get hold(): Lane {
    return this.get(holdLane)
  }

  get(number: number): Lane {
    const lane = this.#lanes.get(number)
    assert(lane !== undefined, 'a lane that is named exists')
    return lane
  }

  has(number: number): boolean {
    return this.#lanes.has(number)
  }

  /** The lane for a delay: that of the nearest interval, among those that are not damaged if
   * there are any. */
  forDelay(delayMs: number): Lane {
    const lane = this.#byInterval.get(delayMs)
    if (lane !== undefined && goesOn(lane)) return lane
    const goingMs = [...this.#byInterval].flatMap(([ms, other]) => (goesOn(other) ? [ms] : []))
    const intervalsMs = goingMs.length > 0 ? goingMs : [...this.#byInterval.keys()]
    return this.#byInterval.get(nearestInterval(intervalsMs, delayMs))!
  }

  /** @throws WaybillError MESSAGE_TOO_LARGE when a group of this size does not fit a lane's
   * segment */
  checkFits(groupBytes: number): void {
    for (const { logs } of this.#lanes.values()) logs?.envelopes.checkFits(groupBytes)
  }

  /** One that this life has made, for nothing that a policy asks. */
  add(lane: Lane): void {
    assert(!this.#lanes.has(lane.number), 'a lane is added once')
    this.#lanes.set(lane.number, lane)
  }

  remove(lane: Lane): void {
    this.#lanes.delete(lane.number)
  }

  [Symbol.iterator](): IterableIterator<Lane> {
    return this.#lanes.values()
  }
}

/** A device that failed may answer again soon. */
const goesOn = ({ damage }: Lane): boolean => damage === undefined || isWaybillError(damage, 'DISK_FAILED')
