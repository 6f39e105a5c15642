/** Every parameter of the scheduler, under its Postfix name in camelCase.
 * Units are Postfix's: times are SECONDS, as in main.cf; fractions are allowed.
 * Invariant: a parameter is optional wherever it is given and present wherever it is used. Counts
 * are whole numbers below 2³⁰, seconds at most 100 000 000, where no bound is said
 * (parameter-bounds.ts). A queue-wide `defaultX` holds for every transport, the same name without
 * `default` for one transport. */
import type { Feedback } from './concurrency.js'

/** Parameters that a transport can have for itself. */
export interface TransportParameters {
  /** Deliveries of the transport at once, ≥ 1. Postfix has this in master.cf;
   * `default_process_limit` is 100. Default 100. */
  readonly processLimit: number
  /** Window with which a destination begins, ≥ 1; cut to the concurrency limit. Default 5. */
  readonly initialDestinationConcurrency: number
  /** Upper bound of a destination's window; 0 = none. Default 20. */
  readonly destinationConcurrencyLimit: number
  /** Recipients per entry; 0 = no bound. With 1 each recipient is a separate destination, as in
   * Postfix. Default 50. */
  readonly destinationRecipientLimit: number
  /** Feedback per delivery without trouble of the site: `x`, `x/y`, `x/concurrency` or
   * `x/sqrt_concurrency`, 0 ≤ x ≤ 1. Default '1'. */
  readonly destinationConcurrencyPositiveFeedback: string
  /** Feedback per delivery with trouble of the site; the same forms. Default '1'. */
  readonly destinationConcurrencyNegativeFeedback: string
  /** Failed pseudo-cohorts after which a destination is dead; 0 = never. Default 1. */
  readonly destinationConcurrencyFailedCohortLimit: number
  /** Selected entries of a job that earn it one slot to be preempted with; 0 and 1 switch
   * preemption off. Default 5. */
  readonly deliverySlotCost: number
  /** Slots that a candidate gets in advance. Default 3. */
  readonly deliverySlotLoan: number
  /** Per cent of the needed slots that a candidate gets in advance, 0 … 100. Default 50. */
  readonly deliverySlotDiscount: number
  /** A job that cannot earn this many slots is never preempted. Default 3. */
  readonly minimumDeliverySlots: number
  /** Recipient slots that the transport hands out to its jobs. Default 20 000. */
  readonly recipientLimit: number
  /** Recipient slots beyond those, for jobs that preempt and are not wholly read. Default 1000. */
  readonly extraRecipientLimit: number
  /** A further batch is read when this many slots are free, ≥ 1 … Default 100. */
  readonly recipientRefillLimit: number
  /** … or when any is free and the last batch is this many seconds old. Default 5. */
  readonly recipientRefillDelay: number
  /** Seconds between a delivery's end and the next one's start; above 0 the concurrency limit is 1.
   * 0 = off. Default 0. */
  readonly destinationRateDelay: number
  /** Beyond Postfix: deliveries that may start within `destinationRateInterval` seconds, for one
   * destination; 0 = off. Default 0. */
  readonly destinationRateLimit: number
  /** Beyond Postfix: seconds, > 0. Default 60. */
  readonly destinationRateInterval: number
  /** Beyond Postfix: a destination back from the dead gets one delivery, and its window opens when
   * that one went well. Default false. */
  readonly destinationCanary: boolean
  /** Beyond Postfix: a destination back from the dead begins with window 1 and grows by one
   * per cohort, up to the initial concurrency; from there on the ordinary feedback counts.
   * Default false. */
  readonly destinationSlowStart: boolean
  /** Beyond Postfix: seconds for which canary and slow start are remembered while nothing arrives
   * for the destination. Default 4000. */
  readonly destinationRecoveryTime: number
  /** Beyond Postfix: per cent of the process limit, 0 … 100, that is kept for destinations with
   * nothing under way. It is rounded down, and 0 where the process limit is below 20. A queue
   * has 20. Default 0. */
  readonly processReserve: number
  /** Beyond Postfix: while more than this per cent of the process limit is under way, a
   * destination that has not answered yet gets one delivery at a time. 100, and any process
   * limit below 20: no such bound. A queue has 25. Default 100. */
  readonly unansweredProcessShare: number
}

export type TransportOptions = Partial<TransportParameters>

/** `initialDestinationConcurrency` has no `default` in front, in Postfix either. */
export type DefaultName<K extends string> = K extends 'initialDestinationConcurrency'
  ? K
  : `default${Capitalize<K>}`

export type DefaultOptions = {
  readonly [K in keyof TransportParameters as DefaultName<K>]?: TransportParameters[K]
}

/** Parameters of the whole scheduler. */
export interface SchedulerParameters {
  /** Seconds for which a dead destination rests. Default 300. */
  readonly minimalBackoffTime: number
  /** Seconds for which a dead transport rests. Default 60. */
  readonly transportRetryTime: number
  /** Messages in memory, ≥ 1. Default 20 000. */
  readonly qmgrMessageActiveLimit: number
  /** Recipients in memory up to which a message's first batch may be larger than the minimum.
   * Default 20 000. */
  readonly qmgrMessageRecipientLimit: number
  /** Recipients of a message that may always be in memory, ≥ 1. Default 10. */
  readonly qmgrMessageRecipientMinimum: number
  /** Beyond Postfix: messages in memory from which on a destination keeps as many entries as it
   * can end within `minimalBackoffTime`; the rest is put off. 0 = never. A queue has 80 per cent
   * of `activeCountMax`. Default 0. */
  readonly crowdedActiveCount: number
  /** Feedback events go to `SchedulerHost.onFeedback`. Default false. */
  readonly destinationConcurrencyFeedbackDebug: boolean
  /** Beyond the document: the half step that the shipped Postfix adds before it compares with the
   * hysteresis. Default false. */
  readonly feedbackRounding: boolean
  /** Name of the transport that gets the recipients of dead destinations and transports (Postfix:
   * `retry`); '' = they are reported to `SchedulerHost.deferred`. Default ''. */
  readonly retryTransport: string
}

export interface SchedulerOptions extends DefaultOptions, Partial<SchedulerParameters> {
  /** Parameters of single transports. These transports are made at once, in this order; others at
   * their first recipient. */
  readonly transports?: Readonly<Record<string, TransportOptions>>
}

/** A transport's parameters in the form in which the scheduler uses them. */
export interface TransportSettings extends TransportParameters {
  /** Upper bound of a window: 1 with a rate delay, Infinity when there is none. */
  readonly windowLimit: number
  /** Window with which a destination really begins. */
  readonly initialWindow: number
  /** The process limit without the reserve. */
  readonly openProcessLimit: number
  /** Deliveries of the transport from which on a destination that has not answered gets one at a
   * time. */
  readonly unansweredProcessLimit: number
  readonly positiveFeedback: Feedback
  readonly negativeFeedback: Feedback
}

export interface CheckedParameters extends SchedulerParameters {
  /** The parameters of a transport that the options do not name. */
  readonly defaults: TransportSettings
  readonly transports: ReadonlyMap<string, TransportSettings>
}
