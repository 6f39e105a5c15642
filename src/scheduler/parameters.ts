/** Every parameter of the scheduler, under its Postfix name in camelCase, with Postfix's default and unit (times are
 * SECONDS, as in main.cf; fractions are allowed).
 * Invariant: what `checkedParameters` returns lies within its bounds; whoever reads a parameter need not look again.
 * A queue-wide `defaultX` holds for every transport, the same name without `default` for one transport. */
import { WaybillError } from '../errors.js'
import { type Feedback, parseFeedback } from './feedback.js'

/** Parameters that a transport can have for itself. */
export interface TransportParameters {
  /** Deliveries of the transport at once, ≥ 1. Postfix has this in master.cf; `default_process_limit` is 100. */
  readonly processLimit: number
  /** Window with which a destination begins, ≥ 1; cut to the concurrency limit. */
  readonly initialDestinationConcurrency: number
  /** Upper bound of a destination's window; 0 = none. */
  readonly destinationConcurrencyLimit: number
  /** Recipients per entry; 0 = no bound. With 1 each recipient is a destination of its own, as in Postfix. */
  readonly destinationRecipientLimit: number
  /** Feedback per delivery without trouble of the site: `x`, `x/y`, `x/concurrency` or `x/sqrt_concurrency`, 0 ≤ x ≤ 1. */
  readonly destinationConcurrencyPositiveFeedback: string
  /** Feedback per delivery with trouble of the site; the same forms. */
  readonly destinationConcurrencyNegativeFeedback: string
  /** Failed pseudo-cohorts after which a destination is dead; 0 = never. */
  readonly destinationConcurrencyFailedCohortLimit: number
  /** Selected entries of a job that earn it one slot to be preempted with; 0 and 1 switch preemption off. */
  readonly deliverySlotCost: number
  /** Slots that a candidate gets in advance. */
  readonly deliverySlotLoan: number
  /** Per cent of the needed slots that a candidate gets in advance, 0 … 100. */
  readonly deliverySlotDiscount: number
  /** A job that cannot earn this many slots is never preempted. */
  readonly minimumDeliverySlots: number
  /** Recipient slots that the transport hands out to its jobs. */
  readonly recipientLimit: number
  /** Recipient slots beyond those, for jobs that preempt and are not wholly read. */
  readonly extraRecipientLimit: number
  /** A further batch is read when this many slots are free, ≥ 1 … */
  readonly recipientRefillLimit: number
  /** … or when any is free and the last batch is this many seconds old. */
  readonly recipientRefillDelay: number
  /** Seconds between a delivery's end and the next one's start; above 0 the concurrency limit is 1. 0 = off. */
  readonly destinationRateDelay: number
  /** Beyond Postfix: deliveries that may start within `destinationRateInterval` seconds, for one destination; 0 = off. */
  readonly destinationRateLimit: number
  /** Beyond Postfix: seconds, > 0. */
  readonly destinationRateInterval: number
  /** Beyond Postfix: a destination back from the dead gets one delivery, and its window opens when that one went well. */
  readonly destinationCanary: boolean
  /** Beyond Postfix: a destination back from the dead begins with window 1 and grows by one per cohort, up to the initial
   * concurrency; from there on the ordinary feedback counts. */
  readonly destinationSlowStart: boolean
  /** Beyond Postfix: seconds for which canary and slow start are remembered while nothing arrives for the destination. */
  readonly destinationRecoveryTime: number
}

export type TransportOptions = Partial<TransportParameters>

/** `initialDestinationConcurrency` has no `default` in front, in Postfix either. */
type DefaultName<K extends string> = K extends 'initialDestinationConcurrency' ? K : `default${Capitalize<K>}`

export type DefaultOptions = {
  readonly [K in keyof TransportParameters as DefaultName<K>]?: TransportParameters[K]
}

/** Parameters of the whole scheduler. */
export interface SchedulerParameters {
  /** Seconds for which a dead destination rests. */
  readonly minimalBackoffTime: number
  /** Seconds for which a dead transport rests. */
  readonly transportRetryTime: number
  /** Messages in memory, ≥ 1. */
  readonly qmgrMessageActiveLimit: number
  /** Recipients in memory up to which a message's first batch may be larger than the minimum. */
  readonly qmgrMessageRecipientLimit: number
  /** Recipients of a message that may be in memory whatever the others do, ≥ 1. */
  readonly qmgrMessageRecipientMinimum: number
  /** Feedback events go to `SchedulerHost.onFeedback`. */
  readonly destinationConcurrencyFeedbackDebug: boolean
  /** Beyond the document: the half step that the shipped Postfix adds before it compares with the hysteresis. */
  readonly feedbackRounding: boolean
  /** Name of the transport that gets the recipients of dead destinations and transports (Postfix: `retry`);
   * '' = they are reported to `SchedulerHost.deferred`. */
  readonly retryTransport: string
}

export interface SchedulerOptions extends DefaultOptions, Partial<SchedulerParameters> {
  /** Parameters of single transports. These transports are made at once, in this order; others at their first recipient. */
  readonly transports?: Readonly<Record<string, TransportOptions>>
}

/** A transport's parameters in the form in which the scheduler uses them. */
export interface TransportSettings extends TransportParameters {
  /** Upper bound of a window: 1 with a rate delay, Infinity when there is none. */
  readonly windowLimit: number
  /** Window with which a destination really begins. */
  readonly initialWindow: number
  readonly positiveFeedback: Feedback
  readonly negativeFeedback: Feedback
}

interface Bound {
  readonly default: number
  readonly min: number
  readonly max: number
  readonly integer: boolean
}

const countMax = 0x3fff_ffff
const secondsMax = 100_000_000
const count = (value: number, min = 0, max = countMax): Bound => ({ default: value, min, max, integer: true })
const seconds = (value: number, min = 0): Bound => ({ default: value, min, max: secondsMax, integer: false })

type NumberName<T> = { [K in keyof T]: T[K] extends number ? K : never }[keyof T]

const transportBounds: Readonly<Record<NumberName<TransportParameters>, Bound>> = {
  processLimit: count(100, 1),
  initialDestinationConcurrency: count(5, 1),
  destinationConcurrencyLimit: count(20),
  destinationRecipientLimit: count(50),
  destinationConcurrencyFailedCohortLimit: count(1),
  deliverySlotCost: count(5, 0, 1_000_000),
  deliverySlotLoan: count(3),
  deliverySlotDiscount: count(50, 0, 100),
  minimumDeliverySlots: count(3, 0, 1000),
  recipientLimit: count(20_000),
  extraRecipientLimit: count(1000),
  recipientRefillLimit: count(100, 1),
  recipientRefillDelay: seconds(5),
  destinationRateDelay: seconds(0),
  destinationRateLimit: count(0, 0, 100_000),
  destinationRateInterval: seconds(60, 0.001),
  destinationRecoveryTime: seconds(4000),
}

const schedulerBounds: Readonly<Record<NumberName<SchedulerParameters>, Bound>> = {
  minimalBackoffTime: seconds(300, 0.001),
  transportRetryTime: seconds(60, 0.001),
  qmgrMessageActiveLimit: count(20_000, 1),
  qmgrMessageRecipientLimit: count(20_000, 1),
  qmgrMessageRecipientMinimum: count(10, 1),
}

const feedbackNames = [
  'destinationConcurrencyPositiveFeedback',
  'destinationConcurrencyNegativeFeedback',
] as const
const transportFlags = ['destinationCanary', 'destinationSlowStart'] as const
const schedulerFlags = ['destinationConcurrencyFeedbackDebug', 'feedbackRounding'] as const

const defaultName = (name: string): string =>
  name === 'initialDestinationConcurrency' ? name : `default${name.charAt(0).toUpperCase()}${name.slice(1)}`

const invalid = (option: string, value: unknown, bound: string): WaybillError =>
  new WaybillError(
    'OPTION_INVALID',
    `${option} is ${JSON.stringify(value) ?? String(value)}, must be ${bound}`,
    {
      option,
    },
  )

type Values = Readonly<Record<string, unknown>>

function numberOf(values: Values, name: string, option: string, bound: Bound, fallback: number): number {
  const value = values[name] ?? fallback
  const inside =
    typeof value === 'number' &&
    value >= bound.min &&
    value <= bound.max &&
    (!bound.integer || Number.isInteger(value))
  if (inside) return value
  throw invalid(
    option,
    value,
    `${bound.integer ? 'an integer' : 'seconds'} from ${bound.min} to ${bound.max}`,
  )
}

function flagOf(values: Values, name: string, option: string, fallback: boolean): boolean {
  const value = values[name] ?? fallback
  if (typeof value === 'boolean') return value
  throw invalid(option, value, 'true or false')
}

function feedbackOf(values: Values, name: string, option: string, fallback: string): string {
  const value = values[name] ?? fallback
  if (typeof value === 'string' && parseFeedback(value) !== undefined) return value
  throw invalid(option, value, 'x, x/y, x/concurrency or x/sqrt_concurrency with a value from 0 to 1')
}

function refuseUnknown(values: Values, known: ReadonlySet<string>, prefix: string): void {
  for (const name of Object.keys(values))
    if (!known.has(name)) throw invalid(`${prefix}${name}`, values[name], 'the name of a parameter')
}

const transportNames: readonly string[] = [
  ...Object.keys(transportBounds),
  ...feedbackNames,
  ...transportFlags,
]

/** @param named gives the option's name in an error: the same parameter is `defaultX` or `transports.smtp.x`. */
function transportOf(
  values: Values,
  key: (name: string) => string,
  named: (name: string) => string,
  base: Values,
): TransportSettings {
  const result: Record<string, unknown> = {}
  for (const [name, bound] of Object.entries(transportBounds))
    result[name] = numberOf(
      values,
      key(name),
      named(name),
      bound,
      (base[name] as number | undefined) ?? bound.default,
    )
  for (const name of feedbackNames)
    result[name] = feedbackOf(values, key(name), named(name), (base[name] as string | undefined) ?? '1')
  for (const name of transportFlags)
    result[name] = flagOf(values, key(name), named(name), (base[name] as boolean | undefined) ?? false)
  const parameters = result as unknown as TransportParameters
  const limit = parameters.destinationRateDelay > 0 ? 1 : parameters.destinationConcurrencyLimit
  const windowLimit = limit === 0 ? Infinity : limit
  return {
    ...parameters,
    windowLimit,
    initialWindow: Math.min(parameters.initialDestinationConcurrency, windowLimit),
    positiveFeedback: parseFeedback(parameters.destinationConcurrencyPositiveFeedback)!,
    negativeFeedback: parseFeedback(parameters.destinationConcurrencyNegativeFeedback)!,
  }
}

export interface CheckedParameters extends SchedulerParameters {
  /** What a transport has that the options do not name. */
  readonly defaults: TransportSettings
  readonly transports: ReadonlyMap<string, TransportSettings>
}

/** Defaults filled in, everything checked.
 * @throws WaybillError OPTION_INVALID naming the parameter, its value and its bound */
export function checkedParameters(options: SchedulerOptions): CheckedParameters {
  const values = options as Values
  refuseUnknown(
    values,
    new Set([
      ...Object.keys(schedulerBounds),
      ...schedulerFlags,
      ...transportNames.map(defaultName),
      'retryTransport',
      'transports',
    ]),
    '',
  )
  const own: Record<string, unknown> = {}
  for (const [name, bound] of Object.entries(schedulerBounds))
    own[name] = numberOf(values, name, name, bound, bound.default)
  for (const name of schedulerFlags) own[name] = flagOf(values, name, name, false)
  const retryTransport: unknown = values['retryTransport'] ?? ''
  if (typeof retryTransport !== 'string')
    throw invalid('retryTransport', retryTransport, 'the name of a transport')

  const defaults = transportOf(values, defaultName, defaultName, {})
  const transports = new Map<string, TransportSettings>()
  for (const [name, overrides] of Object.entries(options.transports ?? {})) {
    const prefix = `transports.${name}.`
    refuseUnknown(overrides as Values, new Set(transportNames), prefix)
    const same = (parameter: string): string => parameter
    transports.set(
      name,
      transportOf(overrides as Values, same, (p) => prefix + p, defaults as unknown as Values),
    )
  }
  return { ...(own as unknown as SchedulerParameters), retryTransport, defaults, transports }
}
