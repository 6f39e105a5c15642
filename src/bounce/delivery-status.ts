/** The part of a report for programs: message/delivery-status.
 * Invariant: one group of fields for the message and one for each recipient, in their order; one
 * field per line however long and strange its value was. It is ASCII unless `isGlobal`.
 * @see RFC 3464; RFC 6533 for addresses and text outside ASCII */
import { remoteBytesMax, remoteMta, reasonParts } from '../base/remote-reply.js'
import { mailDate, reasonBytesMax } from './report-text.js'
import type { ReportedRecipient, ReportInput } from './report-input.js'
import { asciiOnly, fold, isAscii, oneLine } from './safe-text.js'

export interface DeliveryStatus {
  readonly text: string
  /** message/global-delivery-status instead of message/delivery-status */
  readonly isGlobal: boolean
}

/** @param listed the recipients that the report names */
export function deliveryStatus(input: ReportInput, listed: readonly ReportedRecipient[]): DeliveryStatus {
  const text = groups(input, listed, oneLine)
  if (isAscii(text)) return { text, isGlobal: false }
  if (input.smtputf8) return { text, isGlobal: true }
  return {
    text: groups(input, listed, (foreign, bytesMax) => asciiOnly(oneLine(foreign, bytesMax))),
    isGlobal: false,
  }
}

type Words = (foreign: string, bytesMax: number) => string

function groups(input: ReportInput, listed: readonly ReportedRecipient[], words: Words): string {
  const ofMessage = [
    ...asGiven('Original-Envelope-Id', input.envid),
    ...folded([
      `Reporting-MTA: dns; ${input.reportingMta}`,
      `X-Waybill-Queue-ID: ${words(input.originalId, 200)}`,
      `X-Waybill-Sender: ${typedAddress(input.originalSender, words)}`,
      `Arrival-Date: ${mailDate(input.acceptedAtMs)}`,
    ]),
  ]
  const ofRecipients = listed.map((recipient) => [
    ...asGiven('Original-Recipient', recipient.orcpt),
    ...folded(recipientFields(recipient, input, words)),
  ])
  return [ofMessage, ...ofRecipients].map((lines) => lines.join('')).join('\r\n')
}

const folded = (fields: readonly string[]): string[] => fields.map((field) => `${fold(field, ' ')}\r\n`)

/** The value that the sender gave, blanks included: it was checked at submission, and fits a
 * line. */
const asGiven = (name: string, value: string | undefined): string[] =>
  value === undefined ? [] : [`${name}: ${asciiOnly(value)}\r\n`]

function recipientFields(recipient: ReportedRecipient, input: ReportInput, words: Words): string[] {
  const { action, address } = recipient
  const status = /^[245]\.[0-9]{1,3}\.[0-9]{1,3}$/.test(recipient.status)
    ? recipient.status
    : { failed: '5.0.0', delayed: '4.0.0', delivered: '2.0.0', relayed: '2.0.0' }[action]
  const { remote } = recipient
  const reply = remote === undefined ? undefined : reasonParts(recipient.reason)?.reply
  const mta = remote === undefined ? undefined : remoteMta(oneLine(remote, remoteBytesMax))
  const diagnostic = words(reply ?? recipient.reason, reasonBytesMax)
  const fields = [
    `Final-Recipient: ${typedAddress(address, words)}`,
    `Action: ${action}`,
    `Status: ${status}`,
  ]
  if (mta !== undefined) fields.push(`Remote-MTA: dns; ${mta}`)
  // `smtp` is for replies of servers (RFC 3464, 2.3.6); our own text has another type.
  if (diagnostic !== '')
    fields.push(`Diagnostic-Code: ${reply === undefined ? 'x-waybill' : 'smtp'}; ${diagnostic}`)
  if (action === 'delayed' && input.giveUpAtMs !== undefined)
    fields.push(`Will-Retry-Until: ${mailDate(input.giveUpAtMs)}`)
  return fields
}

/** `rfc822; a@b`, or `utf-8; …` for an address outside ASCII: as it is if the report is global,
 * else in RFC 6533's `\x{…}` form, which loses nothing. */
function typedAddress(address: string, words: Words): string {
  const clean = oneLine(address, 512)
  if (isAscii(clean)) return `rfc822; ${clean}`
  if (words(clean, 512) === clean) return `utf-8; ${clean}`
  return `utf-8; ${clean.replace(/[^\x21-\x2a\x2c-\x3c\x3e-\x5b\x5d-\x7e]/gu, (character) => `\\x{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`)}`
}
