/** Whether the sender hears of an outcome at all; of which he does is ActiveMessage's to know, and when mail is late, settle-decision.ts's.
 * Invariant: nothing is ever reported to the null sender, so a report about a report cannot exist and no mail loop can be made
 * of reports. */

import { isMailAddress } from '../base/mail-address.js'

export type ReportDecision =
  | { readonly kind: 'report' }
  | { readonly kind: 'silent'; readonly why: 'null sender' | 'sender is not an address' | 'already reported' }

/** @param sender of the message that failed
 * @param unreportedCount its recipients of which the sender wants to be told and was not yet */
export function reportDecision(sender: string, unreportedCount: number): ReportDecision {
  if (sender === '') return { kind: 'silent', why: 'null sender' }
  if (!isMailAddress(sender)) return { kind: 'silent', why: 'sender is not an address' }
  if (unreportedCount === 0) return { kind: 'silent', why: 'already reported' }
  return { kind: 'report' }
}
