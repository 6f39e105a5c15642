/** Decides which active messages are attempted now, by the times that their submitters have given.
 * Invariant: no attempt begins before a message's time by the wall clock, nor when it has expired;
 * what has expired while the scheduler has it is taken from there. */
import type { ActiveMessage } from '../../active/active-message.js'
import type { Lane } from '../../lane/lane.js'
import { isEarly, isOver } from '../../record/terms.js'
import type { Parts } from '../life/parts.js'
import { tellTrouble } from '../life/trouble.js'
import { Expiry } from './expiry.js'
import { TimedLanes, type TimedLanesOptions } from './timed-lanes.js'

export interface ScheduleOptions extends TimedLanesOptions {
  /** It waits for its time, or ends. */
  readonly postpone: (message: ActiveMessage) => void
  /** It has expired: no attempt on it begins any more. */
  readonly expire: (message: ActiveMessage) => Promise<boolean>
}

export class Schedule {
  readonly #parts: Parts
  readonly #options: ScheduleOptions
  readonly #lanes: TimedLanes
  readonly #expiry: Expiry

  constructor(parts: Parts, options: ScheduleOptions) {
    this.#parts = parts
    this.#options = options
    this.#lanes = new TimedLanes(parts, options)
    this.#expiry = new Expiry(parts, (message) => this.#expire(message))
  }

  /** @throws as TimedLanes.lane */
  timedLane(intervalMs: number): Promise<Lane> {
    return this.#lanes.lane(intervalMs)
  }

  /** @returns false when it is to be attempted now */
  postpones(message: ActiveMessage): boolean {
    const { terms } = message.envelope
    if (terms === undefined) return false
    const wallMs = this.#parts.options.clock.wallMs()
    const isWaiting = !message.hasOutcome && isEarly(terms, wallMs)
    if (!isWaiting && !isOver(terms, wallMs)) {
      this.#expiry.watch(message)
      return false
    }
    this.#options.postpone(message)
    return true
  }

  #expire(message: ActiveMessage): void {
    this.#options.expire(message).catch((error: unknown) => {
      if (!this.#parts.life.isOver) tellTrouble(this.#parts, message.envelope.id, error)
    })
  }
}
