/** Decides whether a report is written at all. ActiveMessage knows which outcomes are reported, and
 * engine/settle/decide.ts when mail is late.
 * Invariant: no report goes to the null sender, so there are no reports about reports, and no
 * loops of them. */

import { isMailAddress } from '../base/mail-address.js'

/** Recipients of one report, at the most, when its sender's address stands for others. A message
 * that is accepted has its room beforehand (accept.ts), its report has it in the smallest segments
 * by being small. */
export const reportRecipientsMax = 16

export type ReportDecision =
  | { readonly kind: 'report' }
  | { readonly kind: 'silent'; readonly why: 'null sender' | 'sender is not an address' | 'already reported' }

/** @param sender of the message that failed
 * @param unreportedCount its recipients that are still to be reported */
export function reportDecision(sender: string, unreportedCount: number): ReportDecision {
  if (sender === '') return { kind: 'silent', why: 'null sender' }
  if (!isMailAddress(sender)) return { kind: 'silent', why: 'sender is not an address' }
  if (unreportedCount === 0) return { kind: 'silent', why: 'already reported' }
  return { kind: 'report' }
}
