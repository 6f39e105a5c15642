/** A message that nodemailer composes of what a request has as JSON.
 * Invariant: only members of the schema reach the composer, and it may read no file and no URL.
 * Bcc is in the envelope and not in the header. */
import { WaybillError } from '../../errors.js'
import type { Submission } from '../../engine/accept/submission.js'
import { distinctMailboxes } from '../../relay/tables/address-pattern.js'
import { checkContents } from './checked-contents.js'
import { checkMailboxes, type Mailbox } from './checked-mailboxes.js'
import { ProblemError } from '../wire/problem-details.js'
import type { Schema } from './route.js'
import { instant, list, object, text } from './schemas.js'

/** As a mailbox is written, with a name or without. */
const mailbox: Schema = {
  anyOf: [text, object({ name: text, address: text }, ['name'])],
}
const mailboxes: Schema = { anyOf: [mailbox, list(mailbox)] }

const attachment = object(
  {
    filename: text,
    content: text,
    encoding: { enum: ['utf8', 'base64', 'hex'], description: 'of content; default utf8' },
    contentType: text,
    contentDisposition: { enum: ['attachment', 'inline'] },
    cid: text,
  },
  ['filename', 'encoding', 'contentType', 'contentDisposition', 'cid'],
)

/** What is asked for a message beside its envelope; the library checks it. */
export const termsSchema: Readonly<Record<string, Schema>> = {
  hold: { type: 'boolean' },
  priority: { enum: ['high', 'normal', 'low'] },
  tags: { ...list(text), description: 'by which verbs and listings select it' },
  notBefore: { ...instant, description: 'no attempt is made before, milliseconds since 1970' },
  expiresAt: { ...instant, description: 'it is given up then, milliseconds since 1970' },
  warnAt: { ...instant, description: 'a delay is reported then, milliseconds since 1970' },
}

const members: Readonly<Record<string, Schema>> = {
  envelope: object({ from: text, to: { anyOf: [text, list(text)] } }),
  from: mailbox,
  to: mailboxes,
  cc: mailboxes,
  bcc: mailboxes,
  replyTo: mailboxes,
  inReplyTo: text,
  references: { anyOf: [text, list(text)] },
  messageId: text,
  subject: text,
  text,
  html: text,
  headers: { type: 'object', additionalProperties: { anyOf: [text, list(text)] } },
  attachments: { ...list(attachment), maxItems: 100 },
  raw: { ...text, description: 'the whole message, instead of its parts; with an envelope' },
  ...termsSchema,
}

export const mailSchema: Schema = object(members, Object.keys(members))

/** By their names in a submission. */
export type Terms = Pick<Submission, 'hold' | 'priority' | 'tags' | 'notBefore' | 'expiresAt' | 'warnAt'>

type Mailboxes = Mailbox | readonly Mailbox[]

export interface MailParts extends Terms {
  readonly envelope?: { readonly from: string; readonly to: string | readonly string[] }
  readonly from?: Mailbox
  readonly to?: Mailboxes
  readonly cc?: Mailboxes
  readonly bcc?: Mailboxes
  readonly replyTo?: Mailboxes
  readonly headers?: Readonly<Record<string, unknown>>
  readonly raw?: string
  readonly attachments?: unknown
}

export interface ComposedMail extends Terms {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly data: Buffer
  readonly messageId?: string
}

/** @throws ProblemError REQUEST_INVALID; WaybillError ADDRESS_INVALID, RECIPIENTS_EMPTY,
 * OPTION_INVALID */
export async function composed({
  hold,
  priority,
  tags,
  notBefore,
  expiresAt,
  warnAt,
  ...mail
}: MailParts): Promise<ComposedMail> {
  const terms: Terms = { hold, priority, tags, notBefore, expiresAt, warnAt }
  const { envelope, raw } = mail
  if (raw !== undefined) {
    if (envelope === undefined) throw new ProblemError('REQUEST_INVALID', 'raw wants an envelope')
    const to = typeof envelope.to === 'string' ? [envelope.to] : envelope.to
    // A line of `waybill submit` has no schema: the queue refuses what is no list of addresses.
    const isList = Array.isArray(to) && to.every((one: unknown) => typeof one === 'string')
    const recipients = isList ? distinctMailboxes(to) : to
    return { sender: envelope.from, recipients, data: Buffer.from(raw), ...terms }
  }
  if (mail.from === undefined && envelope === undefined)
    throw new ProblemError('REQUEST_INVALID', 'a message has from, or an envelope')
  const { from, to, cc, bcc, replyTo } = mail
  await checkMailboxes({
    from,
    to,
    cc,
    bcc,
    replyTo,
    'envelope.from': envelope?.from,
    'envelope.to': envelope?.to,
  })
  checkContents(mail.attachments)
  if (Object.keys(mail.headers ?? {}).some((name) => /^content-type$/i.test(name.trim())))
    throw new ProblemError(
      'REQUEST_INVALID',
      'headers has no Content-Type: text, html and attachments give it',
    )
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const message = new MailComposer({
    ...(mail as object),
    disableFileAccess: true,
    disableUrlAccess: true,
    newline: '\r\n',
  }).compile()
  const { from: sender, to: recipients } = message.getEnvelope()
  const messageId = message.messageId()
  if (recipients.length === 0)
    throw new WaybillError('RECIPIENTS_EMPTY', 'a message has to, cc, bcc or an envelope')
  return {
    sender: sender === false ? '' : sender,
    recipients: distinctMailboxes(recipients),
    data: await message.build(),
    ...terms,
    messageId,
  }
}
