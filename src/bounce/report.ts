/** A report to the sender, RFC 3464, composed with nodemailer's MIME writer.
 * Invariant: the same input gives the same bytes (no clock, no randomness), because a report may be
 * composed again after a crash. It is 7 bit, except for the To field of a sender outside ASCII, and
 * for a returned message that is not. So it needs SMTPUTF8 exactly when the sender's address does.
 * Its boundary is a hash of all parts, so no part can contain it. */
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type MimeNode from 'nodemailer/lib/mime-node'
import { assert } from '../base/assert.js'
import { atFirstUse } from '../base/at-first-use.js'
import { WaybillError } from '../errors.js'
import { deliveryStatus } from './delivery-status.js'
import { originalHeader, messageBytesMax, originalMessage } from './original.js'
import { isMailAddress } from '../base/mail-address.js'
import { tellsOf, type ReportedRecipient, type ReportInput } from './report-input.js'
import { reportText } from './report-text.js'
import { isAscii } from './safe-text.js'

/** Recipients that one report names; it tells how many more there are. */
export const listedRecipientsMax = 1000

const mimeNode = atFirstUse<typeof MimeNode>(
  'nodemailer/lib/mime-node',
  () => import('nodemailer/lib/mime-node'),
)

interface Part {
  readonly type: string
  readonly description: string
  readonly content: string | Buffer
  /** It must not be encoded, and is not 7 bit. */
  readonly isEightBit?: boolean
}

/** A host name or an address literal, as a report names its server. */
export const isReportingMta = (host: string): boolean =>
  host.length <= 255 && /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[a-z0-9.:-]+\])$/i.test(host)

/** @throws WaybillError ADDRESS_INVALID when the sender cannot get a report (ask reportDecision
 * first), OPTION_INVALID when `reportingMta` is not a host name or address literal */
export async function composeReport(input: ReportInput): Promise<Buffer> {
  assert(input.recipients.length > 0, 'a report names at least one recipient')
  assert(Number.isFinite(new Date(input.nowMs).getTime()), 'a report has a date')
  if (!isMailAddress(input.originalSender))
    throw new WaybillError('ADDRESS_INVALID', 'the sender of a reported message is not an address', {
      id: input.originalId,
    })
  if (!isReportingMta(input.reportingMta))
    throw new WaybillError('OPTION_INVALID', 'expected a host name or an address literal', {
      option: 'reportingMta',
    })
  const { author = `MAILER-DAEMON@${input.reportingMta}` } = input
  const parts = partsOf(input)
  const loading = mimeNode.ready()
  if (loading !== undefined) await loading
  const Node = mimeNode.now()
  const root = new Node('multipart/report; report-type=delivery-status', {
    boundaryPrefix: 'waybill',
    baseBoundary: hashOf(parts),
  })
  root.setHeader([
    { key: 'Date', value: new Date(input.nowMs) },
    { key: 'From', value: { name: 'Mail Delivery System', address: author } },
    { key: 'To', value: { name: '', address: input.originalSender } },
    { key: 'Subject', value: subject(input) },
    {
      key: 'Message-ID',
      value: `<${input.id.replace(/[^a-z0-9._-]/gi, '-').slice(0, 200)}@${input.reportingMta}>`,
    },
    { key: 'Auto-Submitted', value: 'auto-replied' },
    { key: 'MIME-Version', value: '1.0' },
  ])
  if (parts.some(({ isEightBit }) => isEightBit === true)) root.setHeader('Content-Transfer-Encoding', '8bit')
  for (const { type, description, content, isEightBit } of parts) {
    const part = root.createChild(type, { textEncoding: 'Q' })
    part.setHeader('Content-Description', description)
    if (isEightBit === true) part.setHeader('Content-Transfer-Encoding', '8bit')
    else if (type.startsWith('message/global-'))
      part.setHeader('Content-Transfer-Encoding', 'quoted-printable')
    part.setContent(content)
  }
  return await root.build()
}

function partsOf(input: ReportInput): Part[] {
  const listed = mostTelling(input.recipients)
  const whole = returned(input)
  const header = input.data === undefined ? Buffer.alloc(0) : originalHeader(input.data, input.dataBytes)
  const status = deliveryStatus(input, listed)
  const follows = whole !== undefined ? 'message' : header.length > 0 ? 'header' : 'nothing'
  const parts: Part[] = [
    {
      type: 'text/plain; charset=utf-8',
      description: 'Notification',
      content: reportText(input, listed, follows),
    },
    {
      type: status.isGlobal ? 'message/global-delivery-status' : 'message/delivery-status',
      description: 'Delivery report',
      content: status.text,
    },
  ]
  const text = header.toString('latin1')
  const isGlobal = input.smtputf8 && !isAscii(text) && isUtf8(header)
  if (whole !== undefined) {
    const isEightBit = !isAscii(whole.toString('latin1'))
    const type = isGlobal ? 'message/global' : 'message/rfc822'
    parts.push({ type, description: 'The message', content: whole, isEightBit })
  } else if (header.length > 0) {
    parts.push({
      type: isGlobal ? 'message/global-headers' : 'text/rfc822-headers',
      description: 'Header of the message',
      content: isAscii(text) ? text : header,
    })
  }
  return parts
}

/** The recipients that are named. If not all can be, failures go before successes. */
function mostTelling(recipients: readonly ReportedRecipient[]): readonly ReportedRecipient[] {
  if (recipients.length <= listedRecipientsMax) return recipients
  return (['failed', 'delayed', 'relayed', 'delivered'] as const)
    .flatMap((wanted) => recipients.filter(({ action }) => action === wanted))
    .slice(0, listedRecipientsMax)
}

/** RFC 3461 §4.3: the whole message is returned with a failure only. */
function returned({ returnsFull, recipients, data, dataBytes }: ReportInput): Buffer | undefined {
  const isAsked = returnsFull === true && tellsOf(recipients, 'failed')
  const isWhole = data !== undefined && data.length === dataBytes && dataBytes <= messageBytesMax
  return isAsked && isWhole ? originalMessage(data) : undefined
}

const subject = ({ recipients }: ReportInput): string => {
  if (tellsOf(recipients, 'failed')) return 'Undelivered Mail Returned to Sender'
  return tellsOf(recipients, 'delayed')
    ? 'Delayed Mail (still being retried)'
    : 'Successful Mail Delivery Report'
}

function hashOf(parts: readonly Part[]): string {
  const hash = createHash('sha256')
  for (const { content } of parts) hash.update(content)
  return hash.digest('hex').slice(0, 32)
}
