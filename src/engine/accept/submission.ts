/** Checks submissions before anything is read or written; each refusal has a code and
 * an SMTP reply. */
import type { Readable } from 'node:stream'
import { isBytes } from '../../base/realms.js'
import { addressKind } from '../../base/mail-address.js'
import { isSubmitterId, type MessageId } from '../../base/message-id.js'
import {
  isEnvid,
  isOrcpt,
  notifyBits,
  type AskedRecipient,
  type Notify,
  type RecipientDsn,
  type Ret,
} from '../../base/notification.js'
import { checkOptionNames, flagOption, isRecordText, signalOption } from '../../base/options.js'
import { WaybillError } from '../../errors.js'
import { notifyNotes, type EnvelopeDsn } from '../../record/dsn.js'
import type { Priority } from '../../record/envelope.js'
import { keyBytesMax } from '../../record/keys.js'
import type { EnvelopeTerms } from '../../record/terms.js'
import type { EngineOptions } from '../life/options.js'
import { checkedTerms, type SubmissionTerms } from './submission-terms.js'

/** A message to submit. An unknown member is refused: a `sendAt` that is ignored would send mail
 * at the wrong time. */
export interface Submission extends SubmissionTerms {
  /** '' is the null sender: nothing is ever reported to it. */
  readonly sender: string
  /** At least one address, alone or with requests for reports (RFC 3461). An address that stands
   * there twice is one recipient, with its last requests. */
  readonly recipients: readonly (string | AskedRecipient)[]
  /** The message as it is to be delivered, lines of at most 998 octets ending in CRLF or LF,
   * without NUL; or a name under which the transports find it, 1 … 4096 bytes. */
  readonly data: Buffer | string | Readable | { readonly ref: string }
  /** Addresses or headers need SMTPUTF8. Set by itself when an address does. */
  readonly smtputf8?: boolean | undefined
  /** Takes lines of more than 998 octets, and hands them on as they are. SMTP forbids programs to
   * make such lines, but most servers take them, and a signature stays valid. Default: false, they
   * are refused with LINE_TOO_LONG. */
  readonly longLines?: boolean | undefined
  /** Requests for reports on the message as a whole (RFC 3461). Default: failures and delays are
   * reported, with the header. */
  readonly dsn?: SubmissionDsn | undefined
  /** The message's id from `newMessageId()`, for messages that name their own id. An id serves one
   * submission. Default: the queue makes one. */
  readonly id?: string | undefined
  /** Puts the message on hold: no attempt is made until `release`. Default: false. */
  readonly hold?: boolean | undefined
  /** Order among the active messages for one destination: `high` before all others, `low` behind
   * them. Default: normal. */
  readonly priority?: Priority | undefined
  /** The submitter's name for this submission, 1 … 200 bytes. While the queue remembers the key
   * (`keyRetentionMs`), another submission with it makes no message: it settles with the id of the
   * first message and `isDuplicate`, also after a crash. The queue does not compare the two. */
  readonly idempotencyKey?: string | undefined
  /** Aborts the submission until the message is appended; after that it is accepted. */
  readonly signal?: AbortSignal | undefined
}

export interface CheckedEnvelope {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly smtputf8: boolean
  readonly dsn: EnvelopeDsn | undefined
  /** undefined: the queue's next. */
  readonly id: MessageId | undefined
  readonly held: boolean
  readonly priority: Priority
  /** undefined: every submission makes a message. */
  readonly key: string | undefined
  /** undefined: nothing is asked. */
  readonly terms: EnvelopeTerms | undefined
}

const refBytesMax = 4096

/** @throws WaybillError SUBMIT_ABORTED */
export function checkAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw aborted(signal)
}

/** The error of a submission whose signal was aborted. */
export const aborted = (signal: AbortSignal | undefined): WaybillError =>
  new WaybillError('SUBMIT_ABORTED', 'the submission was aborted', {}, signal?.reason)

/** Checks all of a submission except for its data.
 * @throws WaybillError OPTION_INVALID, ADDRESS_INVALID, RECIPIENTS_EMPTY, RECIPIENTS_TOO_MANY,
 * SUBMIT_ABORTED */
export function checkEnvelope(submission: Submission, limits: EngineOptions): CheckedEnvelope {
  if (typeof submission !== 'object' || submission === null)
    throw new WaybillError('OPTION_INVALID', 'a submission is an object { sender, recipients, data }')
  checkMembers(submission)
  const { sender, recipients, signal } = submission
  signalOption(signal)
  checkAborted(signal)
  const senderKind = typeof sender !== 'string' ? undefined : sender === '' ? 'ascii' : addressKind(sender)
  if (senderKind === undefined)
    throw new WaybillError('ADDRESS_INVALID', `the sender is no address${hintOf(sender)}`, {
      option: 'sender',
    })
  if (!Array.isArray(recipients))
    throw new WaybillError('OPTION_INVALID', `recipients is a list of addresses, not ${kindOf(recipients)}`, {
      option: 'recipients',
    })
  if (recipients.length === 0)
    throw new WaybillError('RECIPIENTS_EMPTY', 'a message has a list of at least one recipient')
  if (recipients.length > limits.recipientCountMax)
    throw new WaybillError(
      'RECIPIENTS_TOO_MANY',
      `${recipients.length} recipients, at most ${limits.recipientCountMax} are accepted`,
    )
  flagOption('longLines', submission.longLines ?? false)
  let smtputf8 = flagOption('smtputf8', submission.smtputf8 ?? false) || senderKind === 'international'
  let isAsked = submission.dsn !== undefined
  // Our own list: the submitter may reuse its list for the next message while this one waits. It
  // does not grow: V8 gives a list that is pushed to room for 17, and this one is kept. Nor is it a
  // literal (base/README.md).
  const addresses = (recipients as readonly unknown[]).slice()
  for (let i = 0; i < addresses.length; i++) {
    const address = addressOf(addresses[i])
    const kind = typeof address === 'string' ? addressKind(address) : undefined
    if (kind === undefined)
      throw new WaybillError('ADDRESS_INVALID', `a recipient is no address${hintOf(addresses[i])}`, {
        // What a query was parsed into may have no words for itself.
        recipient: typeof address === 'string' ? address.slice(0, 100) : typeof address,
      })
    if (kind === 'international') smtputf8 = true
    if (address === addresses[i]) continue
    isAsked = true
    addresses[i] = address
  }
  const checked = addresses as readonly string[]
  const id = checkedId(submission.id)
  const { held, priority, key } = handlingOf(submission)
  const terms = checkedTerms(submission, limits.clock)
  if (isAsked) return { sender, smtputf8, id, held, priority, key, terms, ...askedOf(checked, submission) }
  const distinct = checked.length === 1 ? checked : [...new Set(checked)]
  return { sender, recipients: distinct, smtputf8, dsn: undefined, id, held, priority, key, terms }
}

const members: ReadonlySet<string> = new Set([
  'sender',
  'recipients',
  'data',
  'smtputf8',
  'longLines',
  'dsn',
  'id',
  'hold',
  'priority',
  'idempotencyKey',
  'tags',
  'notBefore',
  'expiresAt',
  'warnAt',
  'traceparent',
  'tracestate',
  'signal',
] satisfies (keyof Submission)[])

/** @throws WaybillError OPTION_INVALID */
function checkMembers(submission: object): void {
  for (const name of Object.keys(submission)) {
    if (members.has(name)) continue
    const hint = ['from', 'to', 'text', 'html', 'subject'].includes(name)
      ? '; nodemailer composes such messages: waybill/nodemailer'
      : ''
    throw new WaybillError(
      'OPTION_INVALID',
      `a submission has no member ${name}; it has ${[...members].join(', ')}${hint}`,
      { option: name },
    )
  }
}

const priorities: readonly unknown[] = ['high', 'normal', 'low'] satisfies Priority[]

/** @throws WaybillError OPTION_INVALID */
function handlingOf({
  hold = false,
  priority = 'normal',
  idempotencyKey: key,
}: Submission): Pick<CheckedEnvelope, 'held' | 'priority' | 'key'> {
  flagOption('hold', hold)
  if (!priorities.includes(priority))
    throw new WaybillError('OPTION_INVALID', 'priority is high, normal or low', { option: 'priority' })
  if (key !== undefined && !isRecordText(key, keyBytesMax))
    throw new WaybillError('OPTION_INVALID', `a key is a string of 1 to ${keyBytesMax} bytes`, {
      option: 'idempotencyKey',
    })
  return { held: hold, priority, key }
}

/** @throws WaybillError OPTION_INVALID */
function checkedId(id: unknown): MessageId | undefined {
  if (id === undefined) return undefined
  if (typeof id === 'string' && isSubmitterId(id)) return id
  throw new WaybillError('OPTION_INVALID', 'an id is one that newMessageId() has given', { option: 'id' })
}

const kindOf = (value: unknown): string =>
  value === null || value === undefined
    ? String(value)
    : typeof value === 'object'
      ? 'an object'
      : `a ${typeof value}`

/** For `Ada <ada@example.org>`. */
const hintOf = (address: unknown): string =>
  typeof address === 'string' && /<[^<>]+>\s*$/.test(address)
    ? ': give the part between < and >, without the name'
    : ''

/** @returns what may be an address */
const addressOf = (recipient: unknown): unknown =>
  typeof recipient === 'object' && recipient !== null && 'address' in recipient
    ? recipient.address
    : recipient

/** @throws WaybillError OPTION_INVALID */
function askedOf(
  addresses: readonly string[],
  { recipients, dsn }: Submission,
): Pick<CheckedEnvelope, 'recipients' | 'dsn'> {
  const last = new Map<string, AskedRecipient | undefined>()
  addresses.forEach((address, i) => {
    const recipient = recipients[i]
    last.set(address, typeof recipient === 'object' ? recipient : undefined)
  })
  const distinct = [...last.keys()]
  return { recipients: distinct, dsn: checkedDsn(dsn, { addresses: distinct, asked: [...last.values()] }) }
}

/** @throws WaybillError OPTION_INVALID */
export function checkRef(data: unknown): string {
  if (typeof data !== 'object' || data === null || !('ref' in data))
    throw new WaybillError('OPTION_INVALID', 'data is a string, a Buffer, a Readable or { ref }', {
      option: 'data',
    })
  const { ref } = data
  if (!isRecordText(ref, refBytesMax))
    throw new WaybillError('OPTION_INVALID', `a reference is a text of 1 to ${refBytesMax} bytes`, {
      option: 'data.ref',
    })
  return ref
}

/** A piece of a stream, as bytes of our own.
 *    1. a source reads ahead into the buffer that it has given
 *    2. the disk writes that meanwhile
 *    3. settled is what nobody submitted, or what its checksum does not fit
 * @throws TypeError */
export function ownPiece(piece: unknown): Buffer {
  if (typeof piece === 'string') return Buffer.from(piece)
  if (isBytes(piece)) return Buffer.from(piece)
  throw new TypeError('a piece of the data is neither text nor bytes')
}

/** Requests for reports (RFC 3461), by the names that nodemailer has for them. The same address
 * twice is one recipient, with its last request, as in smtp-server. */
export interface SubmissionDsn {
  /** The envelope id: a report says it again. Printable ASCII, at most 100 octets as xtext. */
  readonly id?: string | undefined
  /** What a report of a failure returns: the header, or the whole message if it has at most 50 000
   * bytes. Default: the header. */
  readonly return?: Ret | undefined
  /** Requests for recipients without requests. Default: failures and delays. */
  readonly notify?: Notify | undefined
}

/** Recipients, each once, and what is asked for them. */
export interface Distinct {
  readonly addresses: readonly string[]
  readonly asked: readonly (RecipientDsn | undefined)[]
}

/** @param addresses that are checked already @returns undefined when nothing is asked
 * @throws WaybillError OPTION_INVALID */
function checkedDsn(dsn: unknown, { addresses, asked }: Distinct): EnvelopeDsn | undefined {
  if (dsn !== undefined && (typeof dsn !== 'object' || dsn === null))
    throw invalid('dsn', 'dsn is an object { id, return, notify }')
  checkOptionNames(dsn ?? {}, { id: true, return: true, notify: true }, 'dsn')
  const { id, return: ret, notify: forAll } = (dsn ?? {}) as SubmissionDsn
  if (id !== undefined && (typeof id !== 'string' || !isEnvid(id)))
    throw invalid('dsn.id', 'an envelope id is printable ASCII, at most 100 octets as xtext')
  if (ret !== undefined && ret !== 'full' && ret !== 'headers')
    throw invalid('dsn.return', "return is 'full' or 'headers'")
  const bitsForAll = checkedNotify('dsn.notify', forAll)
  const bits = new Uint8Array(addresses.length)
  const orcpts: string[] = []
  asked.forEach((one, index) => {
    const isSaid = one?.notify !== undefined
    bits[index] = isSaid ? checkedNotify('recipients.notify', one.notify, addresses[index]) : bitsForAll
    if (one?.orcpt === undefined) return
    if (typeof one.orcpt !== 'string' || !isOrcpt(one.orcpt))
      throw invalid('recipients.orcpt', orcptRule, addresses[index])
    while (orcpts.length < addresses.length) orcpts.push('')
    orcpts[index] = one.orcpt
  })
  const notify = notifyNotes(bits)
  if (id === undefined && ret === undefined && notify.length === 0 && orcpts.length === 0) return undefined
  return { ret, envid: id ?? '', notify, orcpts }
}

const orcptRule = 'an original recipient is `type;address` in printable ASCII, at most 500 octets as xtext'

function checkedNotify(option: string, notify: unknown, recipient?: string): number {
  const bits = notifyBits(notify)
  if (bits === undefined)
    throw invalid(option, "notify is 'never', or a list of 'success', 'failure', 'delay'", recipient)
  return bits
}

const invalid = (option: string, reason: string, recipient?: string): WaybillError =>
  new WaybillError('OPTION_INVALID', reason, {
    option,
    ...(recipient === undefined ? {} : { recipient: recipient.slice(0, 100) }),
  })
