/** Whether the sender hears of a failure or a delay at all.
 * Invariant: nothing is ever reported to the null sender, so a report about a report cannot exist and no mail loop can be made
 * of reports. */

import { isMailAddress } from '../base/mail-address.js'

export type ReportDecision =
  | { readonly kind: 'report' }
  | { readonly kind: 'silent'; readonly why: 'null sender' | 'sender is not an address' | 'already reported' }

/** @param sender of the message that failed
 * @param unreportedCount its recipients of which the sender was not told yet */
export function reportDecision(sender: string, unreportedCount: number): ReportDecision {
  if (sender === '') return { kind: 'silent', why: 'null sender' }
  if (!isMailAddress(sender)) return { kind: 'silent', why: 'sender is not an address' }
  if (unreportedCount === 0) return { kind: 'silent', why: 'already reported' }
  return { kind: 'report' }
}
