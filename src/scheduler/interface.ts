/** The interface between the scheduler and its user.
 * Invariant: a recipient that a batch gave to the scheduler comes out exactly once: in an entry
 * that `next` returns, or in `deferred`, or (when its message is withdrawn) not at all. */

import type { DeliveryLimits } from '../policy/concurrency-limits.js'

export interface SchedulerRecipient {
  /** Its number within the message. */
  readonly index: number
  readonly address: string
  readonly transport: string
  readonly nexthop: string
}

/** A part of a message's recipients, in the order in which they are kept. */
export interface RecipientBatch {
  readonly recipients: readonly SchedulerRecipient[]
  /** Nothing comes after it. An incomplete batch holds at least one recipient. */
  readonly complete: boolean
  /** Recipients that come after it, as far as known: the estimates of preemption use it.
   * Default 1 for an incomplete batch; 0 for a complete one. */
  readonly unreadCount?: number
}

/** Recipients of one message for one destination: one delivery of a transport. */
export interface Entry<M> {
  readonly message: M
  readonly transport: string
  readonly nexthop: string
  /** `DestinationSnapshot.name`. */
  readonly destinationName: string
  /** Recipient indexes, at least one. */
  readonly recipients: readonly number[]
  /** For the host, which may set it; false at first. */
  hostMark: boolean
}

export interface DeferReason {
  /** RFC 3463, `4.x.y`. */
  readonly status: string
  readonly text: string
  /** The server whose reply the text ends with; means nothing to the scheduler. */
  readonly remote?: string | undefined
}

/** How a delivery ended, for the scheduler.
 * - `ok`: the site answered; recipients may have been refused for good.
 * - `defer`: the site answered, some recipients are put off. Counts like `ok`.
 * - `site`: no connection or no handshake: negative feedback.
 * - `okreason`: delivered, but trouble of the site was seen: no feedback at all.
 * - `untried`: it did not begin, for a reason that is not the site's: no feedback, and no delay for
 *   its rate.
 * - `crash`: the delivery vanished without an answer: as `site` if the answer before it (of any
 *   delivery) saw trouble of its site, else no feedback. That is Postfix's behaviour; report
 *   `site` to avoid it. */
export type DeliveryReport = 'ok' | 'defer' | 'site' | 'okreason' | 'untried' | 'crash'

export type DestinationState =
  | { readonly kind: 'ready' }
  /** `reason`: what the site said last. */
  | { readonly kind: 'dead'; readonly untilMs: number; readonly reason: DeferReason }
  | {
      readonly kind: 'suspended'
      /** Infinity: until it is resumed. */
      readonly untilMs: number
      /** What an operator has suspended, this destination with it. Absent: it waits for its
       * rate. */
      readonly order?: { readonly transport?: string | undefined; readonly nexthop?: string | undefined }
    }

/** What keeps mail for a site waiting (policy/rate-limits.ts). */
export interface WaitingLimit {
  /** `reply`: the site has asked for patience, `order`: an operator has slowed it, and `name` is
   * its nexthop. */
  readonly kind: 'nexthop' | 'tag' | 'sender' | 'source' | 'reply' | 'order'
  /** What is counted: a nexthop, a tag, a sender. */
  readonly name: string
  readonly count: number
  readonly perMs: number
  /** When all that waits for it now has had its turn: an estimate. Of a site that an operator has
   * slowed and for which nothing waits: when that ends. */
  readonly untilMs: number
}

export interface DestinationSnapshot {
  readonly transport: string
  readonly nexthop: string
  /** Its key within the transport: the nexthop in lower case, or `localpart@nexthop` where entries
   * have one recipient. */
  readonly name: string
  /** Deliveries at once that it may have; 0 while it is dead. */
  readonly window: number
  readonly busy: number
  /** Entries that wait. */
  readonly todo: number
  readonly state: DestinationState
  /** Its revival is being tried out: canary, or slow start. */
  readonly recovery: 'none' | 'canary' | 'slow-start'
  /** Deliveries that count against the rate limit now; 0 without a limit. */
  readonly rate: number
  /** Mail for it waits for a limit: the one that a delivery met last. */
  readonly limit?: WaitingLimit
}

export interface TransportSnapshot {
  readonly transport: string
  /** Deliveries under way. */
  readonly busy: number
  readonly processLimit: number
  /** Entries that wait for nothing but a place among these. */
  readonly delayedCount: number
}

/** A timer that fired: a dead destination revived, a suspended one resumed, a dead transport
 * revived, an idle destination whose history was forgotten. */
export interface FiredTimer {
  readonly kind: 'revive' | 'resume' | 'transport' | 'forget'
  readonly transport: string
  /** The destination's; undefined for a transport. */
  readonly name?: string
}

/** One step of a destination's concurrency: `destination_concurrency_feedback_debug` as data. */
export interface FeedbackEvent {
  readonly kind: 'positive' | 'negative' | 'dead' | 'revived'
  readonly transport: string
  readonly name: string
  /** The amount of this event, signed; 0 for `revived` and `dead`, and when the safety rule or the
   * limit suppressed it. */
  readonly feedback: number
  readonly limit: number
  readonly window: number
  readonly success: number
  readonly failure: number
  readonly failCohorts: number
}

/** Calls of the scheduler to its user, synchronously, during a call. None of these may call
 * the scheduler. */
export interface SchedulerHost<M> {
  /** Recipients put off without an attempt: their destination or transport is dead. */
  deferred(message: M, recipients: readonly number[], reason: DeferReason): void
  /** The next batch of a message: recipients from `firstIndex` on, 1 … `countMax` of them.
   * undefined: it will be given to `Scheduler.supply` later. */
  read(message: M, firstIndex: number, countMax: number): RecipientBatch | undefined
  /** Every recipient of the message has come out and come back; the scheduler has forgotten it. */
  done(message: M): void
  /** Beyond Postfix: what a destination may have at once, together with others; asked when it is
   * made, and for all of them after `Scheduler.limitsChanged`. `queueonly` means nothing here. */
  limitsOf?(transport: string, nexthop: string): DeliveryLimits | undefined
  /** Beyond Postfix: why mail for a destination is put off without an attempt now; asked of each
   * recipient that is read, and of what waits after `Scheduler.putOffWaiting`. */
  putsOff?(transport: string, nexthop: string): DeferReason | undefined
  /** Called when `destinationConcurrencyFeedbackDebug` is on. */
  onFeedback?(event: FeedbackEvent): void
}
