/** Checks the tags, times and trace of a submission. */
import { isDate } from '../../base/realms.js'
import type { Clock } from '../../base/clock.js'
import { asGiven, isRecordText } from '../../base/options.js'
import { WaybillError } from '../../errors.js'
import {
  tagBytesMax,
  tagCountMax,
  termsOf,
  type EnvelopeTerms,
  type TraceContext,
} from '../../record/terms.js'

/** Times are Dates, or milliseconds since 1970, at most ten years ahead. */
export interface SubmissionTerms {
  /** Names by which listings and verbs select messages; events and outcomes have them, too. At most
   * 16, each of 1 … 64 bytes without control characters; repeated tags count once. */
  readonly tags?: readonly string[] | undefined
  /** No attempt is made before this time. The first one begins within a second of it while the
   * queue is open and keeps up. The lifetime counts from it. A time in the past means now. */
  readonly notBefore?: Date | number | undefined
  /** When recipients without the message are given up and reported to the sender, in place of the
   * policy's lifetime. Later than now and than `notBefore`. */
  readonly expiresAt?: Date | number | undefined
  /** If the first attempt after this time is deferred, the delay is reported to the sender. It
   * counts as one of the policy's warnings. */
  readonly warnAt?: Date | number | undefined
  /** The trace that the submission belongs to, in the form of the HTTP header `traceparent`:
   * `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`. The message keeps it through all its
   * attempts; transports and `waybill:attempt` get it. @see W3C Trace Context §3.2 */
  readonly traceparent?: string | undefined
  /** What tracers add to the trace: at most 512 printable ASCII characters; only with
   * `traceparent`.
   * @see W3C Trace Context §3.3 */
  readonly tracestate?: string | undefined
}

const aheadMsMax = 3_660 * 86_400_000
/** 2001-01-01: what says less is in seconds, or was not set. */
const timeMin = 978_307_200_000

/** Checks tags, times and trace. @returns undefined when the submission has none of them
 * @throws WaybillError OPTION_INVALID */
export function checkedTerms(submission: SubmissionTerms, clock: Clock): EnvelopeTerms | undefined {
  const { tags, notBefore, expiresAt, warnAt, traceparent, tracestate } = submission
  const hasTimes = notBefore !== undefined || expiresAt !== undefined || warnAt !== undefined
  if (tags === undefined && !hasTimes && traceparent === undefined && tracestate === undefined)
    return undefined
  const nowMs = clock.wallMs()
  const terms = {
    tags: tags === undefined ? [] : checkedTags(tags),
    notBefore: timeOf('notBefore', notBefore, nowMs),
    expiresAt: timeOf('expiresAt', expiresAt, nowMs),
    warnAt: timeOf('warnAt', warnAt, nowMs),
    trace: traceOf(traceparent, tracestate),
  }
  if (terms.notBefore <= nowMs) terms.notBefore = 0
  if (terms.expiresAt > 0 && terms.expiresAt <= terms.notBefore)
    throw invalid('expiresAt', 'expiresAt is not later than notBefore')
  return termsOf(terms)
}

/** Asked when it is certain that a message is to be made:
 *    1. a message is accepted with an idempotency key, and the answer is lost
 *    2. its time passes; the submitter submits it again
 *    3. it is refused, and its submitter does not know that it went out
 * @throws WaybillError OPTION_INVALID */
export function checkUnexpired(terms: EnvelopeTerms | undefined, clock: Clock): void {
  if (terms !== undefined && terms.expiresAt > 0 && terms.expiresAt <= clock.wallMs())
    throw invalid('expiresAt', 'expiresAt has passed already')
}

/** Is it a tag? */
export const isTag = (value: unknown): value is string =>
  isRecordText(value, tagBytesMax) && !/\p{Cc}/u.test(value)

/** Version, trace, parent and flags; a later version may say more behind them. */
const traceIds = '(?!0{32})[\\da-f]{32}-(?!0{16})[\\da-f]{16}-[\\da-f]{2}'
const traceparentPattern = new RegExp(
  `^(?:00-${traceIds}|(?!00|ff)[\\da-f]{2}-${traceIds}(?:-[!-~]{1,200})?)$`,
)
const tracestatePattern = /^[ -~]{1,512}$/

/** Is it a `traceparent`? @see W3C Trace Context §3.2.2 */
export const isTraceparent = (value: unknown): value is string =>
  typeof value === 'string' && traceparentPattern.test(value)

/** Is it a `tracestate` of 1 to 512 printable ASCII characters? */
export const isTracestate = (value: unknown): value is string =>
  typeof value === 'string' && tracestatePattern.test(value)

function traceOf(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (traceparent === undefined && tracestate === undefined) return undefined
  if (!isTraceparent(traceparent))
    throw invalid('traceparent', `${asGiven(traceparent)} is no traceparent: 00-TRACE-PARENT-FLAGS`)
  if (tracestate === undefined || tracestate === '') return { traceparent, tracestate: '' }
  if (isTracestate(tracestate)) return { traceparent, tracestate }
  throw invalid('tracestate', 'a tracestate has at most 512 printable ASCII characters')
}

/** @returns a list of our own */
function checkedTags(tags: unknown): readonly string[] {
  const rule = `tags are a list of at most ${tagCountMax} strings of 1 to ${tagBytesMax} bytes without control characters`
  if (!Array.isArray(tags) || tags.length > tagCountMax) throw invalid('tags', rule)
  const list: readonly unknown[] = tags
  if (!list.every(isTag)) throw invalid('tags', rule)
  return [...new Set(list)]
}

/** @returns 0 when none is given */
function timeOf(option: string, value: unknown, nowMs: number): number {
  if (value === undefined) return 0
  const ms = isDate(value) ? value.getTime() : value
  if (typeof ms !== 'number' || !Number.isSafeInteger(ms) || ms < timeMin)
    throw invalid(option, `${asGiven(value)} is no Date, nor a time in milliseconds since 1970`)
  if (ms > nowMs + aheadMsMax) throw invalid(option, `${option} is more than ten years ahead`)
  return ms
}

const invalid = (option: string, reason: string): WaybillError =>
  new WaybillError('OPTION_INVALID', reason, { option })
