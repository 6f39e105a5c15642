/** The protocol of the control socket: JSON, one object a line. Pure.
 * A request has a version and `do`; its answers are lines tagged by `kind`, of which the last is a
 * `result` or an `error`.
 * Invariant: input from the other side is checked before use, so a request that reaches the queue
 * has a selector of known members and types. JSON has no Infinity: where a number may be infinite,
 * `null` stands for it. */
import { WaybillError, type ErrorCode } from '../errors.js'
import type { ListedMessage } from '../admin/select/listing.js'
import type { Route } from '../engine/life/options.js'
import type { Room } from '../engine/accept/space-watch.js'
import { checkSelector, type Selector } from '../admin/select/selector.js'
import type { LaneStatistics, QueueStatistics } from '../admin/select/statistics.js'
import type { DestinationSnapshot } from '../scheduler/scheduler.js'
import type { SlowOptions } from '../admin/verbs/slow.js'
import type { SuspensionTarget } from '../engine/life/suspensions.js'
import type { VerbResult } from '../admin/verbs/tally.js'

const controlVersion = 1
/** A request may be a message of 12 MB; a listed message may have a thousand recipients with
 * reasons. */
export const requestBytesMax: number = 16 * 1024 * 1024
export const answerBytesMax: number = 16 * 1024 * 1024

const plainVerbs = ['hold', 'release', 'requeue', 'delete', 'expire'] as const
export type PlainVerb = (typeof plainVerbs)[number]

export type VerbRequest =
  | { readonly do: PlainVerb; readonly selector: Selector }
  | { readonly do: 'flush'; readonly selector: Selector; readonly perSecond?: number | undefined }
  | {
      readonly do: 'reroute'
      readonly selector: Selector
      readonly nexthop: string
      readonly transport?: string | undefined
    }

/** A message; `number` is in its answer. */
export interface SubmitRequest {
  readonly do: 'submit'
  readonly number: number
  /** As of `queue.submit`, the data in base64. */
  readonly submission: { readonly data: string; readonly [member: string]: unknown }
}

export type ControlRequest =
  | VerbRequest
  | SubmitRequest
  | { readonly do: 'list'; readonly selector: Selector }
  | { readonly do: 'destinations' }
  /** Asks for the present route of each recipient. */
  | { readonly do: 'routes'; readonly recipients: readonly string[] }
  /** Answered when all that has happened by now stands in the queue's files. */
  | { readonly do: 'written' }
  | { readonly do: 'resume'; readonly transport: string; readonly name: string }
  /** No delivery begins there, for so long or until it is unsuspended. */
  | ({ readonly do: 'suspend'; readonly forMs?: number | undefined } & SuspensionTarget)
  | ({ readonly do: 'unsuspend' } & SuspensionTarget)
  /** At most so many begin there in a time. */
  | ({ readonly do: 'slow' } & SlowOptions)
  /** The owner reads its files again. */
  | { readonly do: 'reload' }
  /** The owner takes no mail any more, and delivers what it has. */
  | { readonly do: 'retire' }
  /** Keeps all files for a backup until the client says stop, or leaves. */
  | { readonly do: 'pin' }
  /** Samples until the client has enough. */
  | { readonly do: 'watch'; readonly intervalMs: number }
  /** Ends the request that the connection waits for, which answers with its counts. */
  | { readonly do: 'stop' }

/** How a verb ended; `stopped` if it was stopped before it had reached every message. */
export interface VerbOutcome extends VerbResult {
  readonly stopped: boolean
}

/** A file that was read again, and applied. */
export interface ReloadedFile {
  /** The option that names it, such as `auth`. */
  readonly option: string
  readonly path: string
  /** What it holds, in words: `3 users`. */
  readonly holds: string
}

/** What is wrong with the queue, in a sentence. */
export interface ToldProblem {
  readonly code: string
  /** `critical`, `warning` or `notice`. */
  readonly severity: string
  readonly text: string
}

/** Mail since the first watcher, and the present state. */
export interface Sample {
  /** Monotonic and wall time, milliseconds. */
  readonly atMs: number
  readonly wallMs: number
  /** Messages. */
  readonly acceptedCount: number
  /** Recipients. */
  readonly deliveredCount: number
  readonly deferredCount: number
  readonly failedCount: number
  readonly statistics: Omit<QueueStatistics, 'destinations'>
  /** Of the disk, as it last said; undefined: it has not answered yet. */
  readonly room?: Room | undefined
  /** As its owner has watched it, the worst first; undefined: the owner does not say. */
  readonly problems?: readonly ToldProblem[] | undefined
  /** The number of all; `destinations` has the first of them, dead ones first, then by
   * waiting entries. */
  readonly destinationCount: number
  readonly destinations: readonly WatchedDestination[]
}

export interface WatchedDestination extends DestinationSnapshot {
  /** Recipients delivered there since the first watcher. */
  readonly deliveredCount: number
}

export type ControlAnswer =
  | { readonly kind: 'progress'; readonly counts: VerbResult }
  | { readonly kind: 'message'; readonly message: ListedMessage }
  | { readonly kind: 'destination'; readonly destination: DestinationSnapshot }
  /** Of each recipient; null: nobody knows the way. */
  | { readonly kind: 'routes'; readonly routes: readonly (Route | null)[] }
  /** All files are kept; the copy's journal ends at this position. */
  | { readonly kind: 'pinned'; readonly journalEnd: number }
  | { readonly kind: 'sample'; readonly sample: Sample }
  /** It is durable. `isDuplicate`: a submission with its key had been before. */
  | {
      readonly kind: 'submitted'
      readonly number: number
      readonly id: string
      readonly isDuplicate: boolean
    }
  | { readonly kind: 'refused'; readonly number: number; readonly code: ErrorCode; readonly message: string }
  | {
      readonly kind: 'result'
      readonly outcome?: VerbOutcome
      readonly resumed?: boolean
      readonly suspended?: true
      readonly slowed?: true
      readonly reloaded?: readonly ReloadedFile[]
      /** Of a listing: it has not all. */
      readonly isCut?: boolean
    }
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly message: string }

export const requestLine = (request: ControlRequest): string =>
  `${JSON.stringify({ waybill: controlVersion, ...request }, nullForInfinity)}\n`

export const answerLine = (answer: ControlAnswer): string => `${JSON.stringify(answer, nullForInfinity)}\n`

const nullForInfinity = (_name: string, value: unknown): unknown => (value === Infinity ? null : value)

/** @throws WaybillError OPTION_INVALID, FORMAT_NEWER */
export function readRequest(line: string): ControlRequest {
  const fields = fieldsOf(line)
  const { waybill: version } = fields
  if (typeof version === 'number' && version > controlVersion)
    throw new WaybillError(
      'FORMAT_NEWER',
      `the client speaks version ${version} of the control protocol, this relay knows ${controlVersion}`,
    )
  if (version !== controlVersion) throw invalid('waybill', `a request names version ${controlVersion}`)
  const verb = plainVerbs.find((name) => name === fields['do'])
  if (verb !== undefined) return { do: verb, selector: selectorOf(fields['selector'], 'verb') }
  switch (fields['do']) {
    case 'flush':
      return {
        do: 'flush',
        selector: selectorOf(fields['selector'], 'verb'),
        perSecond: perSecondOf(fields['perSecond']),
      }
    case 'reroute':
      return {
        do: 'reroute',
        selector: selectorOf(fields['selector'], 'verb'),
        nexthop: textOf(fields, 'nexthop'),
        transport: fields['transport'] === undefined ? undefined : textOf(fields, 'transport'),
      }
    case 'submit':
      return {
        do: 'submit',
        number: numberOf(fields, 'number'),
        submission: submissionOf(fields['submission']),
      }
    case 'list':
      return { do: 'list', selector: selectorOf(fields['selector'], 'list') }
    case 'routes':
      return { do: 'routes', recipients: recipientsOf(fields['recipients']) }
    case 'destinations':
    case 'reload':
    case 'retire':
    case 'pin':
    case 'stop':
    case 'written':
      return { do: fields['do'] }
    case 'resume':
      return { do: 'resume', transport: textOf(fields, 'transport'), name: textOf(fields, 'name') }
    case 'suspend':
      return { do: 'suspend', ...targetOf(fields), forMs: forMsOf(fields['forMs']) }
    case 'unsuspend':
      return { do: 'unsuspend', ...targetOf(fields) }
    case 'slow':
      return {
        do: 'slow',
        nexthop: textOf(fields, 'nexthop'),
        transport: targetOf(fields).transport,
        count: numberOf(fields, 'count'),
        perMs: numberOf(fields, 'perMs'),
        forMs: forMsOf(fields['forMs']),
      }
    case 'watch':
      return { do: 'watch', intervalMs: intervalOf(fields['intervalMs']) }
    default:
      throw invalid('do', 'there is no such request')
  }
}

/** @throws WaybillError QUEUE_CRASHED if it is no answer of a relay */
export function readAnswer(line: string): ControlAnswer {
  let fields: unknown
  try {
    fields = JSON.parse(line)
  } catch (cause) {
    throw new WaybillError('QUEUE_CRASHED', 'the control socket is not answered by a relay', {}, cause)
  }
  const answer = fields as ControlAnswer
  switch (answer?.kind) {
    case 'message':
      return { ...answer, message: { ...answer.message, dueAt: answer.message.dueAt ?? Infinity } }
    case 'sample': {
      const { sample } = answer
      const lanes = sample.statistics.lanes.map(withInterval)
      const destinations = sample.destinations.map(withUntil)
      return { ...answer, sample: { ...sample, destinations, statistics: { ...sample.statistics, lanes } } }
    }
    case 'destination':
      return { ...answer, destination: withUntil(answer.destination) }
    case 'submitted':
    case 'refused':
    case 'progress':
    case 'routes':
    case 'pinned':
    case 'result':
    case 'error':
      return answer
    default:
      throw new WaybillError('QUEUE_CRASHED', 'the control socket is not answered by a relay')
  }
}

const withInterval = (lane: LaneStatistics): LaneStatistics => ({
  ...lane,
  intervalMs: lane.intervalMs ?? Infinity,
})

/** What is suspended until it is resumed ends at no time. */
function withUntil<T extends DestinationSnapshot>(destination: T): T {
  const { state } = destination
  if (state.kind !== 'suspended') return destination
  return { ...destination, state: { ...state, untilMs: state.untilMs ?? Infinity } }
}

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(line: string): Fields {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (cause) {
    throw new WaybillError('OPTION_INVALID', 'a request is one line of JSON', { option: 'request' }, cause)
  }
  if (!isObject(value)) throw invalid('request', 'a request is one JSON object')
  return value
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isCount = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value >= 0

function selectorOf(value: unknown, purpose: 'list' | 'verb'): Selector {
  if (value === undefined && purpose === 'list') return {}
  if (!isObject(value)) throw invalid('selector', 'a selector is an object')
  if (purpose === 'verb' && Object.keys(value).length === 0)
    throw invalid('selector', 'a verb needs a selector; all: true selects every message')
  checkSelector(value)
  return value
}

function textOf(fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string' || value === '') throw invalid(name, 'expected a string')
  return value
}

/** Absent is every transport, or every nexthop. */
const targetOf = (fields: Fields): SuspensionTarget => ({
  transport: fields['transport'] === undefined ? undefined : textOf(fields, 'transport'),
  nexthop: fields['nexthop'] === undefined ? undefined : textOf(fields, 'nexthop'),
})

function forMsOf(value: unknown): number | undefined {
  if (value === undefined || isCount(value)) return value as number | undefined
  throw invalid('forMs', 'expected milliseconds')
}

/** Recipients that one request may ask for. */
export const routesMax = 1000

function recipientsOf(value: unknown): readonly string[] {
  const isList = Array.isArray(value) && value.length <= routesMax
  if (isList && value.every((one) => typeof one === 'string')) return value
  throw invalid('recipients', `expected at most ${routesMax} addresses`)
}

function numberOf(fields: Fields, name: string): number {
  const value = fields[name]
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw invalid(name, 'expected a count')
}

/** Its members are for the queue to check; a signal is of no use in JSON. */
function submissionOf(value: unknown): SubmitRequest['submission'] {
  if (!isObject(value) || typeof value['data'] !== 'string' || value['signal'] !== undefined)
    throw invalid('submission', 'a submission is an object with data in base64')
  return value as SubmitRequest['submission']
}

function perSecondOf(value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (value === null) return Infinity
  if (isCount(value) && value !== 0) return value as number
  throw invalid('perSecond', 'expected a number above 0, or null for all at once')
}

const watchIntervalMsMin = 100
const watchIntervalMsMax = 60_000

function intervalOf(value: unknown): number {
  if (typeof value === 'number' && value >= watchIntervalMsMin && value <= watchIntervalMsMax) return value
  throw invalid('intervalMs', `expected milliseconds from ${watchIntervalMsMin} to ${watchIntervalMsMax}`)
}

const invalid = (option: string, reason: string): WaybillError =>
  new WaybillError('OPTION_INVALID', reason, { option })
