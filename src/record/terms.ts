/** The terms of a message, as its submitter asks: tags, the times between which it is attempted,
 * and the trace that it belongs to. Most envelopes do not have this field. */
import { payload } from './payload-writer.js'

/** Tags of one message, and bytes of each. */
export const tagCountMax = 16
export const tagBytesMax = 64

export interface EnvelopeTerms {
  /** Distinct, in the order of the submission. */
  readonly tags: readonly string[]
  /** No attempt before this, milliseconds since 1970; 0: at once. */
  readonly notBefore: number
  /** It is given up at this time, and not when the policy says so; 0: when the policy says so. */
  readonly expiresAt: number
  /** From this time on the sender hears once that it is late; 0: when the policy says so. */
  readonly warnAt: number
  /** undefined: it belongs to none. */
  readonly trace?: TraceContext | undefined
}

/** Of a trace, to go on with it at each attempt. @see W3C Trace Context §3.2, §3.3 */
export interface TraceContext {
  /** `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01` */
  readonly traceparent: string
  /** '' when there is none. */
  readonly tracestate: string
}

/** Fields of an envelope that say them. */
export const termFieldCount = ({ trace }: EnvelopeTerms): number => (trace === undefined ? 4 : 5)

/** More than their fields take. */
export function termBytesMost({ tags, trace }: EnvelopeTerms): number {
  const traceBytes = trace === undefined ? 0 : trace.traceparent.length + trace.tracestate.length
  return otherTermBytesMax + tags.length * (tagBytesMax + 2) + traceBytes
}

/** Of the times, and the heads of all fields but tags. */
const otherTermBytesMax = 64

/** Into the payload that is being written. */
export function writeTerms({ tags, notBefore, expiresAt, warnAt, trace }: EnvelopeTerms): void {
  payload.texts(tags).count(notBefore).count(expiresAt).count(warnAt)
  if (trace !== undefined) payload.texts([trace.traceparent, trace.tracestate])
}

/** @returns undefined when they say nothing */
export const termsOf = (terms: EnvelopeTerms): EnvelopeTerms | undefined =>
  terms.tags.length > 0 ||
  terms.notBefore > 0 ||
  terms.expiresAt > 0 ||
  terms.warnAt > 0 ||
  terms.trace !== undefined
    ? terms
    : undefined

/** Is it not to be attempted yet? */
export const isEarly = (terms: EnvelopeTerms | undefined, wallMs: number): boolean =>
  terms !== undefined && terms.notBefore > wallMs

/** Is it to be given up? */
export const isOver = (terms: EnvelopeTerms | undefined, wallMs: number): boolean =>
  terms !== undefined && terms.expiresAt > 0 && terms.expiresAt <= wallMs

/** Tags as events and outcomes name them: not at all where there are none. */
export const taggedBy = (tags: readonly string[]): { readonly tags: readonly string[] } | undefined =>
  tags.length === 0 ? undefined : { tags }

const none: readonly never[] = []

export const tagsOf = ({ terms }: { readonly terms?: EnvelopeTerms | undefined }): readonly string[] =>
  terms?.tags ?? none
