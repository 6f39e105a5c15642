/** Defaults and bounds of the parameters.
 * Invariant: every result of `checkedParameters` lies within its bounds, and no
 * reader checks again. */
import { isMap } from '../base/realms.js'
import { WaybillError } from '../errors.js'
import { parseFeedback } from './concurrency.js'
import type {
  CheckedParameters,
  SchedulerOptions,
  SchedulerParameters,
  TransportParameters,
  TransportSettings,
} from './parameters.js'

interface Bound {
  readonly default: number
  readonly min: number
  readonly max: number
  readonly integer: boolean
}

const countMax = 0x3fff_ffff
/** A smaller process limit has no shares, as in Postfix: they would be too small. */
const sharedProcessLimitMin = 20
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
  processReserve: count(0, 0, 100),
  unansweredProcessShare: count(100, 0, 100),
}

const schedulerBounds: Readonly<Record<NumberName<SchedulerParameters>, Bound>> = {
  minimalBackoffTime: seconds(300, 0.001),
  transportRetryTime: seconds(60, 0.001),
  qmgrMessageActiveLimit: count(20_000, 1),
  qmgrMessageRecipientLimit: count(20_000, 1),
  qmgrMessageRecipientMinimum: count(10, 1),
  crowdedActiveCount: count(0),
}

const feedbackNames = [
  'destinationConcurrencyPositiveFeedback',
  'destinationConcurrencyNegativeFeedback',
] as const
const transportFlags = ['destinationCanary', 'destinationSlowStart'] as const
const schedulerFlags = ['destinationConcurrencyFeedbackDebug', 'feedbackRounding'] as const

const transportBoundList = Object.entries(transportBounds)
const schedulerBoundList = Object.entries(schedulerBounds)
const transportNames: ReadonlySet<string> = new Set([
  ...Object.keys(transportBounds),
  ...feedbackNames,
  ...transportFlags,
])

const defaultNames: ReadonlyMap<string, string> = new Map(
  Array.from(transportNames, (name) => [
    name,
    name === 'initialDestinationConcurrency'
      ? name
      : `default${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  ]),
)
const defaultName = (name: string): string => defaultNames.get(name) ?? name

/** Where a name belongs that is known there alone. */
const elsewhere: ReadonlyMap<string, string> = new Map(
  Array.from(defaultNames)
    .filter(([ofOne, ofAll]) => ofOne !== ofAll)
    .flatMap(([ofOne, ofAll]) => [
      [ofOne, `; for all transports it is ${ofAll}`] as const,
      [ofAll, `; for one transport it is ${ofOne}`] as const,
    ]),
)

const schedulerNames: ReadonlySet<string> = new Set([
  ...Object.keys(schedulerBounds),
  ...schedulerFlags,
  ...defaultNames.values(),
  'retryTransport',
  'transports',
])

/** The process limit of a transport for which none is said. */
export const processLimitDefault: number = transportBounds.processLimit.default

const invalid = (option: string, value: unknown, bound: string): WaybillError =>
  new WaybillError(
    'OPTION_INVALID',
    `${option} is ${JSON.stringify(value) ?? String(value)}, must be ${bound}`,
    {
      option,
    },
  )

type Values = Readonly<Record<string, unknown>>

/** Where a parameter is looked up, and what it is called in an error: the same one is `defaultX` or
 * `transports.smtp.x`. */
interface Source {
  readonly values: Values
  readonly key: (name: string) => string
  readonly named: (name: string) => string
}

function numberOf({ values, key, named }: Source, name: string, bound: Bound, fallback: number): number {
  const value = values[key(name)] ?? fallback
  const inside =
    typeof value === 'number' &&
    value >= bound.min &&
    value <= bound.max &&
    (!bound.integer || Number.isInteger(value))
  if (inside) return value
  throw invalid(
    named(name),
    value,
    `${bound.integer ? 'an integer' : 'seconds'} from ${bound.min} to ${bound.max}`,
  )
}

function flagOf({ values, key, named }: Source, name: string, fallback: boolean): boolean {
  const value = values[key(name)] ?? fallback
  if (typeof value === 'boolean') return value
  throw invalid(named(name), value, 'true or false')
}

function feedbackOf({ values, key, named }: Source, name: string, fallback: string): string {
  const value = values[key(name)] ?? fallback
  if (typeof value === 'string' && parseFeedback(value) !== undefined) return value
  throw invalid(named(name), value, 'x, x/y, x/concurrency or x/sqrt_concurrency with a value from 0 to 1')
}

/** Parameters by name. A Map, a list or a number is refused.
 * @param option what they are of; '' for all */
function membersOf(value: unknown, option: string): Values {
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !isMap(value))
    return value as Values
  const place = option === '' ? {} : { option }
  throw new WaybillError('OPTION_INVALID', "the scheduler's parameters are members of an object", place)
}

function refuseUnknown(values: Values, known: ReadonlySet<string>, prefix: string): void {
  for (const name of Object.keys(values)) {
    if (known.has(name)) continue
    const reason = `the scheduler has no such parameter${elsewhere.get(name) ?? ''}`
    throw new WaybillError('OPTION_INVALID', reason, { option: `${prefix}${name}` })
  }
}

function transportOf(source: Source, base: Values): TransportSettings {
  const result: Record<string, unknown> = {}
  for (const [name, bound] of transportBoundList)
    result[name] = numberOf(source, name, bound, (base[name] as number | undefined) ?? bound.default)
  for (const name of feedbackNames)
    result[name] = feedbackOf(source, name, (base[name] as string | undefined) ?? '1')
  for (const name of transportFlags)
    result[name] = flagOf(source, name, (base[name] as boolean | undefined) ?? false)
  const parameters = result as unknown as TransportParameters
  const limit = parameters.destinationRateDelay > 0 ? 1 : parameters.destinationConcurrencyLimit
  const windowLimit = limit === 0 ? Infinity : limit
  const { processLimit, processReserve, unansweredProcessShare } = parameters
  const share = (percent: number): number => Math.floor((processLimit * percent) / 100)
  const isShared = processLimit >= sharedProcessLimitMin
  return {
    ...parameters,
    windowLimit,
    openProcessLimit: isShared ? processLimit - share(processReserve) : processLimit,
    unansweredProcessLimit: isShared ? share(unansweredProcessShare) : processLimit,
    initialWindow: Math.min(parameters.initialDestinationConcurrency, windowLimit),
    positiveFeedback: parseFeedback(parameters.destinationConcurrencyPositiveFeedback)!,
    negativeFeedback: parseFeedback(parameters.destinationConcurrencyNegativeFeedback)!,
  }
}

const asItIs = (name: string): string => name

/** Defaults filled in, everything checked.
 * @throws WaybillError OPTION_INVALID naming the parameter, its value and its bound */
export function checkedParameters(options: SchedulerOptions): CheckedParameters {
  const values = membersOf(options, '')
  refuseUnknown(values, schedulerNames, '')
  const source = { values, key: asItIs, named: asItIs }
  const own: Record<string, unknown> = {}
  for (const [name, bound] of schedulerBoundList) own[name] = numberOf(source, name, bound, bound.default)
  for (const name of schedulerFlags) own[name] = flagOf(source, name, false)
  const retryTransport: unknown = values['retryTransport'] ?? ''
  if (typeof retryTransport !== 'string')
    throw invalid('retryTransport', retryTransport, 'the name of a transport')

  const defaults = transportOf({ values, key: defaultName, named: defaultName }, {})
  const transports = new Map<string, TransportSettings>()
  for (const [name, given] of Object.entries(membersOf(options.transports ?? {}, 'transports'))) {
    const prefix = `transports.${name}.`
    const overrides = membersOf(given, `transports.${name}`)
    refuseUnknown(overrides, transportNames, prefix)
    const ofOne = { values: overrides, key: asItIs, named: (parameter: string) => prefix + parameter }
    transports.set(name, transportOf(ofOne, defaults as unknown as Values))
  }
  return { ...(own as unknown as SchedulerParameters), retryTransport, defaults, transports }
}
