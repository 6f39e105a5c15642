/** What a submitter asks of the queue for its message: tags, and the times between which it is
 * attempted. A field that most envelopes have not. */
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
}

/** Fields of an envelope that say them. */
export const termFields = 4

/** Into the payload that is being written. */
export function writeTerms({ tags, notBefore, expiresAt, warnAt }: EnvelopeTerms): void {
  payload.texts(tags).count(notBefore).count(expiresAt).count(warnAt)
}

/** @returns undefined when they say nothing */
export const termsOf = (terms: EnvelopeTerms): EnvelopeTerms | undefined =>
  terms.tags.length > 0 || terms.notBefore > 0 || terms.expiresAt > 0 || terms.warnAt > 0 ? terms : undefined

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
