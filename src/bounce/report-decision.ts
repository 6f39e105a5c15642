/** Whether the sender hears of a failure or a delay at all.
 * Invariant: nothing is ever reported to the null sender, so a report about a report cannot exist and no mail loop can be made
 * of reports. */

export type ReportDecision =
  | { readonly kind: 'report' }
  | { readonly kind: 'silent'; readonly why: 'null sender' | 'sender is not an address' | 'already reported' }

/** Octets of an address that a report may go to: more than SMTP allows, less than a line. */
const addressBytesMax = 512

/** @param sender of the message that failed
 * @param unreportedCount its recipients of which the sender was not told yet */
export function reportDecision(sender: string, unreportedCount: number): ReportDecision {
  if (sender === '') return { kind: 'silent', why: 'null sender' }
  if (!isMailAddress(sender)) return { kind: 'silent', why: 'sender is not an address' }
  if (unreportedCount === 0) return { kind: 'silent', why: 'already reported' }
  return { kind: 'report' }
}

/** True for local@domain, where local may be quoted and domain a literal; nothing that could read as two addresses. */
export function isMailAddress(text: string): boolean {
  return (
    Buffer.byteLength(text) <= addressBytesMax &&
    !/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(text) &&
    /^(?:"(?:[^"\\]|\\.)+"|[^\s"@<>()[\],;:\\]+)@(?:\[[^\s[\]\\<>]+\]|[^\s"@<>()[\],;:\\]+)$/u.test(text)
  )
}
