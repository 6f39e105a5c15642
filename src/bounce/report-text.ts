/** The part of a report for people: what happened to which recipients, why, and what can be done.
 * Invariant: each recipient's address begins a line, and nothing foreign does. */
import { remoteBytesMax, reasonParts } from '../base/remote-reply.js'
import { nounText } from '../base/text.js'
import type { ReportedRecipient, ReportInput } from './report-input.js'
import { fold, oneLine } from './safe-text.js'

/** Octets of a remote's text. */
export const reasonBytesMax = 1000

/** @param listed the recipients that the report names
 * @param follows what of the original comes with the report */
export function reportText(
  input: ReportInput,
  listed: readonly ReportedRecipient[],
  follows: 'nothing' | 'header' | 'message',
): string {
  const those = (wanted: ReportedRecipient['action']): readonly ReportedRecipient[] =>
    listed.filter(({ action }) => action === wanted)
  const until = input.giveUpAtMs === undefined ? '' : `, until ${mailDate(input.giveUpAtMs)}`
  const paragraphs = [
    fold(`This is the mail system at ${input.reportingMta}.`, ''),
    ...section(
      'Your message could not be delivered to these recipients. It will not be tried again.',
      those('failed'),
    ),
    ...section(
      `Your message is late for these recipients. You need not send it again: it will be tried further${until}.`,
      those('delayed'),
    ),
    ...section('Your message was delivered to these recipients.', those('delivered')),
    ...section(
      'Your message was handed on for these recipients, to a mail system that may not tell you what becomes of it.',
      those('relayed'),
    ),
  ]
  const restCount = input.recipients.length - listed.length
  if (restCount > 0)
    paragraphs.push(
      fold(
        `${restCount} more ${nounText(restCount, 'recipient is', 'recipients are')} not listed in this report.`,
        '',
      ),
    )
  const size = input.dataBytes > 0 ? ` (${input.dataBytes} bytes)` : ''
  const accepted = `The message${size} was accepted on ${mailDate(input.acceptedAtMs)} under the id ${oneLine(input.originalId, 200)}.`
  const attached = { nothing: '', header: ' Its header is attached.', message: ' It is attached.' }[follows]
  paragraphs.push(fold(accepted + attached, ''))
  return `${paragraphs.join('\r\n\r\n')}\r\n`
}

/** An instant as in the Date field, RFC 5322, in UTC. */
export const mailDate = (atMs: number): string => new Date(atMs).toUTCString().replace('GMT', '+0000')

function section(heading: string, recipients: readonly ReportedRecipient[]): string[] {
  return recipients.length === 0 ? [] : [fold(heading, ''), ...recipients.map(entry)]
}

function entry({ address, status, reason, remote }: ReportedRecipient): string {
  const words = remote === undefined ? undefined : reasonParts(reason)
  const text =
    words === undefined
      ? reason
      : `${words.before}${oneLine(remote ?? '', remoteBytesMax)} said: ${words.reply}`
  const said = oneLine(text, reasonBytesMax) || oneLine(status, 20)
  return fold(`<${oneLine(address, 512)}>: ${said}`, '    ')
}
