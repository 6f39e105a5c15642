/** Counts how long messages wait while nothing keeps them waiting: promise O6, no mail is late.
 * Invariant: time counts for a message only while the whole queue is idle (no call is under way,
 * and only a timer is left), the message is settled, not on hold and not before its time, there is
 * room for it among the active, and no attempt is under way for it or at its sites.
 * Why while it passes: something that happens later by chance, such as new mail or a checkpoint,
 * wakes a runner that nothing else would have woken. */
import { domainOf } from '../../base/mail-address.js'
import { otherNexthop } from '../workload/workload.js'
import type { Attempt } from './model-attempt.js'
import type { LifeFacts } from './model-life.js'
import type { ModelMessage } from './model-message.js'
import { ofMessage, type Violate } from './violation.js'

/** The bounds of idle waits in a life. */
export interface Patience {
  /** The longest wait behind an attempt, by the attempts before that; undefined: not known. */
  readonly retryMsMax: (attempts: number | undefined) => number
  /** When the wall clock was set, a wait in a lane counts from when the message comes into memory:
   * so much later, if it is read when a checkpoint covers it. */
  readonly checkpointMs: number
  readonly activeCountMax: number
}

interface IdleNow extends Pick<LifeFacts, 'patience' | 'isDraining'> {
  readonly life: number
  /** At the end of the idle time. */
  readonly wallMs: number
  /** The wall clock was set, in this life or before. */
  readonly isSet: boolean
}

/** Messages that recoveries found attempted are attempted one at a time
 * (engine/deliver/poison-suspects.ts): a second until an attempt begins, and one behind that. */
const suspectMs = 2000

export class IdleWaits {
  /** Since something became of it. */
  readonly #waitedMs = new Map<ModelMessage, number>()
  /** By message, the recipients that are being attempted, and where. */
  readonly #underWay = new Map<ModelMessage, Map<string, string>>()
  /** The attempts before the last one of this life, where that is known. */
  readonly #attempts = new Map<ModelMessage, number>()
  #thereCountMax = 0

  began(message: ModelMessage, { recipients, nexthop, attempts }: Attempt): void {
    let attempted = this.#underWay.get(message)
    if (attempted === undefined) this.#underWay.set(message, (attempted = new Map()))
    for (const address of recipients) attempted.set(address, nexthop)
    this.#attempts.set(message, attempts)
    this.#waitedMs.delete(message)
  }

  recorded(message: ModelMessage, recipients: readonly string[]): void {
    const attempted = this.#underWay.get(message)
    for (const address of recipients)
      // At a site in trouble they are deferred without an attempt, which counts all the same.
      if (attempted?.delete(address) !== true) this.#attempts.delete(message)
    if (attempted?.size === 0) this.#underWay.delete(message)
    this.#waitedMs.delete(message)
  }

  /** It may be made new. */
  ordered(message: ModelMessage): void {
    this.#attempts.delete(message)
  }

  /** The queue was idle for so long. */
  passed(forMs: number, messages: Iterable<ModelMessage>, now: IdleNow, violate: Violate): void {
    const { patience, isDraining } = now
    if (patience === undefined || isDraining) return
    const there = [...messages].filter(mayBeThere)
    if (this.#underWay.size > 0 && there.length > patience.activeCountMax) return
    const othersMs = this.#othersMs(there.length, now)
    const busy = new Set([...this.#underWay.values()].flatMap((attempted) => [...attempted.values()]))
    for (const message of there) {
      if (!isWaiting(message) || this.#underWay.has(message)) continue
      if (busy.size > 0 && sitesOf(message).some((site) => busy.has(site))) continue
      const dueMs = Math.min(forMs, now.wallMs - message.times.notBefore)
      if (dueMs <= 0) continue
      const beforeMs = this.#waitedMs.get(message) ?? 0
      const waitedMs = beforeMs + dueMs
      this.#waitedMs.set(message, waitedMs)
      const retryMs = wasAttempted(message) ? patience.retryMsMax(this.#attempts.get(message)) : 0
      const boundMs = retryMs + othersMs
      // Once for each wait.
      if (beforeMs <= boundMs && waitedMs > boundMs)
        ofMessage(violate, message.name)(
          'O6',
          `${message.name} waits for ${waitedMs} ms while the queue is idle, not ${boundMs}`,
        )
    }
  }

  /** Time in which the queue may be idle for another reason. In a later life all messages may have
   * been suspects, also those that have ended since. */
  #othersMs(thereCount: number, { patience, life, isSet }: IdleNow): number {
    this.#thereCountMax = Math.max(this.#thereCountMax, thereCount)
    const suspectsMs = life > 1 ? (this.#thereCountMax + 1) * suspectMs : 0
    return suspectsMs + (isSet ? patience!.checkpointMs : 0)
  }
}

/** Active, or waiting: also submissions of earlier lives that nobody knows of. */
const mayBeThere = ({ state, finishedDurably }: ModelMessage): boolean =>
  (state === 'settled' || state === 'asked') && !finishedDurably

const isWaiting = ({ state, finished, mayBeHeld }: ModelMessage): boolean =>
  state === 'settled' && !finished && !mayBeHeld

const sitesOf = ({ recipients, mayBeRerouted }: ModelMessage): string[] => [
  ...new Set([...recipients.keys()].map(domainOf)),
  ...(mayBeRerouted ? [otherNexthop] : []),
]

const wasAttempted = ({ recipients }: ModelMessage): boolean =>
  [...recipients.values()].some(({ life }) => life > 0)
