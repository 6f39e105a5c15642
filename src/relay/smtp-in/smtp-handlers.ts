/** The handlers of an SMTP session that submit to a queue: any smtp-server takes them, ours and an
 * embedder's.
 * Invariant: `250` to the data is sent only after the queue's `submit` settled, which means
 * durable. Everything else is an error reply, 4yz unless the message itself is at fault, or silence
 * when the client has gone; then nothing is left of the message. A client that goes while it waits
 * for the reply may find its message accepted: SMTP has no way to take it back. */
import { hostname as machineName } from 'node:os'
import type { Readable } from 'node:stream'
import { domainToASCII, domainToUnicode } from 'node:url'
import type {
  SMTPServerAddress,
  SMTPServerDataStream,
  SMTPServerError,
  SMTPServerOptions as SessionOptions,
  SMTPServerSession,
} from 'smtp-server'
import { isError } from '../../base/realms.js'
import { systemClock, type Clock } from '../../base/clock.js'
import { isInternational } from '../../base/mail-address.js'
import { MessageIds } from '../../base/message-id.js'
import { hostOption, integerOption } from '../../base/options.js'
import { systemPrng } from '../../base/prng.js'
import type { AskedRecipient } from '../../base/notification.js'
import { callOptionListener } from '../../engine/life/option-listener.js'
import type { SubmissionDsn } from '../../engine/accept/submission.js'
import { leadingFields } from '../../base/header.js'
import { isWaybillError, WaybillError } from '../../errors.js'
import { completed, completionBytesMax, domainsBytesMax, withoutBlindCopies } from './completed-header.js'
import type { StartQueue } from '../etrn.js'
import type { ExpandedRecipients } from './expanded-recipients.js'
import {
  recipientDsn,
  recipientDsnParameters,
  senderDsn,
  senderDsnParameters,
} from '../parameters/dsn-parameters.js'
import { hopCount, messageIdOf, receivedBytesMax, receivedHeader, type Trace } from './received.js'
import { handlingParameters, senderHandling, type Handling } from '../parameters/handling-parameters.js'
import { parameterError, senderParameters, thrownBy } from '../parameters/known-parameters.js'
import { badAddress, isReadable } from '../parameters/readable-address.js'
import { ReplyError } from '../parameters/reply-error.js'
import { collected, heldBy, StreamRoom } from './smtp-data.js'

/** The client, for a log. */
export interface Client {
  readonly address: string
  /** Its name in EHLO. */
  readonly helo: string
  /** Its login, if any. */
  readonly user?: string
}

export const clientOf = ({ remoteAddress, hostNameAppearsAs, user }: SMTPServerSession): Client => ({
  address: remoteAddress,
  helo: hostNameAppearsAs,
  // What an embedder's own login leaves there may be anything.
  ...(typeof user === 'string' ? { user } : undefined),
})

/** As much of a queue as a server needs. */
export interface SubmitPort {
  /** `client` and `trace` are for a port between a server and the queue. */
  submit(
    submission: {
      sender: string
      recipients: readonly (string | AskedRecipient)[]
      data: Buffer | Readable
      smtputf8: boolean
      longLines: boolean
      /** It stands in the message's Received field. */
      id: string
      /** Where the door puts it on hold. */
      hold?: boolean
      /** As a submission has it. */
      idempotencyKey?: string
      dsn: SubmissionDsn | undefined
    } & Handling,
    client: Client,
    trace: Trace,
  ): Promise<{ id: string }>
  /** Mail that waits for a domain is to leave: ETRN. Not offered without it. */
  readonly startQueue?: StartQueue
  readonly limits: { readonly dataBytesMax: number; readonly recipientCountMax: number }
}

export interface SmtpHandlerOptions {
  /** Our name; default: the machine's name. */
  readonly hostname?: string
  /** Largest message, bytes; default: the queue's limit. */
  readonly sizeBytesMax?: number
  /** Recipients of one message; default 1000; the others get 452 and are sent in another
   * message. */
  readonly recipientCountMax?: number
  /** Whether a Received field is written above the data. Default: yes. Without it loops are not
   * found by our own field. */
  readonly received?: boolean
  /** Received fields in a message that counts as looping, 1 … 1000. Default 50. */
  readonly hopCountMax?: number
  /** Whether clients may request reports, RFC 3461. Default: yes. Without it they hear of
   * failures and delays. */
  readonly dsn?: boolean
  readonly clock?: Clock
  /** Errors that no client hears of. */
  readonly onError?: (error: Error) => void
}

export type Handler<K extends 'onMailFrom' | 'onRcptTo' | 'onData'> = NonNullable<SessionOptions[K]>

/** Options of smtp-server, by its names. */
export interface SmtpHandlers {
  /** Largest message, bytes: what EHLO tells, and MAIL with a larger SIZE is refused for. */
  readonly size: number
  readonly maxRecipients: number
  readonly hideDSN: boolean
  readonly hideREQUIRETLS: true
  readonly onMailFrom: Handler<'onMailFrom'>
  readonly onRcptTo: Handler<'onRcptTo'>
  readonly onData: Handler<'onData'>
}

/** Data over this goes to the queue as a stream, bytes. */
const inlineBytesMax = 128 << 10

/** What the relay's own server adds to the handlers. */
export interface RelayHandling {
  /** What becomes of the recipients that a client has named. */
  readonly recipients?: Pick<ExpandedRecipients, 'of'> | undefined
  /** Whose header is completed, completed-header.ts. */
  readonly completes?: (session: SMTPServerSession) => boolean
  /** What a sender of theirs is to the world: senders.ts. Default: itself. */
  readonly shown?: (sender: string) => string
  /** The clients that may use handling-parameters.ts. Default: none. */
  readonly mayAskHandling?: (session: SMTPServerSession) => boolean
}

/** Each can be used alone: what they refuse, the queue refuses at the data. Replies bring their own
 * enhanced code.
 * @throws WaybillError OPTION_INVALID */
export function smtpHandlers(
  queue: SubmitPort,
  options: SmtpHandlerOptions = {},
  relay: RelayHandling = {},
): SmtpHandlers {
  const terms = termsOf(queue, options, relay)
  const transactions = new Transactions(queue, terms, relay)
  const onError = (error: Error): void => callOptionListener('onError', () => options.onError?.(error))
  return {
    size: terms.sizeBytesMax,
    maxRecipients: Math.min(terms.recipientCountMax, queue.limits.recipientCountMax),
    hideDSN: !terms.dsn,
    hideREQUIRETLS: true,
    onMailFrom: (sender, session, done) => done(transactions.senderRefusal(sender, session)),
    onRcptTo: (recipient, session, done) => done(transactions.recipientRefusal(recipient, session)),
    onData: (source, session, done) => {
      transactions.take(source, session).then(
        (text) => done(null, text),
        (error: unknown) => done(answerOf(error, onError)),
      )
    },
  }
}

/** Options with their values. */
type Terms = Required<Omit<SmtpHandlerOptions, 'onError'>>

/** @throws WaybillError OPTION_INVALID */
function termsOf(
  { limits }: SubmitPort,
  options: SmtpHandlerOptions,
  { completes }: Pick<RelayHandling, 'completes'>,
): Terms {
  const { hostname = machineName(), received = true, dsn = true, clock = systemClock } = options
  hostOption('hostname', hostname)
  const hopCountMax = integerOption('hopCountMax', options.hopCountMax ?? hopCountDefault, 1, 1000)
  const completionBytes = completes === undefined ? 0 : domainsBytesMax + (received ? 0 : completionBytesMax)
  const headerBytes = completionBytes + (received ? receivedBytesMax : 0)
  const sizeBytesMax = Math.min(options.sizeBytesMax ?? Infinity, limits.dataBytesMax - headerBytes)
  if (!(sizeBytesMax >= 1)) {
    throw new WaybillError('OPTION_INVALID', 'no room for a message', { option: 'sizeBytesMax' })
  }
  const recipientCountMax = options.recipientCountMax ?? 1000
  // To smtp-server 0 means that there is no limit.
  if (!(recipientCountMax >= 1))
    throw new WaybillError('OPTION_INVALID', 'no room for a recipient', { option: 'recipientCountMax' })
  return { hostname, received, dsn, clock, hopCountMax, sizeBytesMax, recipientCountMax }
}

/** The mail transactions of all sessions (RFC 5321 §3.3). */
class Transactions {
  readonly #queue: SubmitPort
  readonly #terms: Terms
  readonly #relay: RelayHandling
  /** Parameters of MAIL for clients that may ask for handling, of MAIL for the others, of RCPT. */
  readonly #ofTrusted: readonly string[]
  readonly #ofAnybody: readonly string[]
  readonly #ofRcpt: readonly string[]
  readonly #ids = new MessageIds(systemPrng(), 'submitter')
  readonly #streamRoom = new StreamRoom()

  constructor(queue: SubmitPort, terms: Terms, relay: RelayHandling) {
    this.#queue = queue
    this.#terms = terms
    this.#relay = relay
    this.#ofAnybody = terms.dsn ? [...senderParameters, ...senderDsnParameters] : senderParameters
    this.#ofTrusted = [...this.#ofAnybody, ...handlingParameters]
    this.#ofRcpt = terms.dsn ? recipientDsnParameters : []
  }

  senderRefusal({ address, args }: SMTPServerAddress, session: SMTPServerSession): SMTPServerError | null {
    const known = this.#mayAskHandling(session) ? this.#ofTrusted : this.#ofAnybody
    const refusal =
      promiseError(session) ??
      parameterError(args, known) ??
      addressError(address, session, '5.1.7') ??
      thrownBy(() => [senderDsn(args), senderHandling(args, this.#terms.clock.wallMs())])
    // Smtp-server remembers both of a MAIL that was refused.
    session.envelope.requireTLS = false
    if (refusal !== null) session.envelope.smtpUtf8 = false
    return refusal
  }

  recipientRefusal({ address, args }: SMTPServerAddress, session: SMTPServerSession): SMTPServerError | null {
    return (
      parameterError(args, this.#ofRcpt) ??
      addressError(address, session, '5.1.3') ??
      thrownBy(() => recipientDsn(args, session.envelope.smtpUtf8 === true))
    )
  }

  /** Submits what comes after DATA. @returns the reply, once the message is durable
   * @throws ReplyError, WaybillError, or an error of ours: the message is refused */
  async take(source: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
    const { hostname, hopCountMax, sizeBytesMax, clock } = this.#terms
    const { completes, shown } = this.#relay
    const { mailFrom } = session.envelope
    const id = this.#ids.next(clock.wallMs())
    const received = this.#receivedHeader(session, id)
    const written = mailFrom === false ? '' : plainAddress(mailFrom.address, hostname)
    const holdsHeader = completes?.(session) === true
    const sender = holdsHeader && shown !== undefined ? shown(written) : written
    const limits = { inlineBytesMax, sizeBytesMax, holdsHeader }
    const data = await collected(source, received, limits, this.#streamRoom)
    const body = Buffer.isBuffer(data) ? undefined : data
    try {
      const beginning = Buffer.isBuffer(data) ? data : heldBy(data)
      const completion = { sender, unique: id, hostname, atMs: clock.wallMs(), shown }
      const head = holdsHeader
        ? completed(beginning, received.length, completion)
        : completes === undefined
          ? beginning
          : withoutBlindCopies(beginning, body === undefined)
      body?.unshift(head)
      const { fields } = leadingFields(head)
      const refusal = hopCount(head, fields) > hopCountMax ? loopError() : promiseError(session)
      if (refusal !== undefined) throw refusal
      const submission = { ...this.#envelope(session, sender), data: body ?? head, longLines: true, id }
      const trace = { session: uniqueOf(session), ...messageIdOf(head, fields) }
      const accepted = await this.#queue.submit(submission, clientOf(session), trace)
      return `2.0.0 queued as ${accepted.id}`
    } catch (error) {
      // What nobody reads has to be read all the same: the reply comes after the final dot.
      body?.destroy()
      throw error
    }
  }

  /** What MAIL and RCPT have said. */
  #envelope(session: SMTPServerSession, sender: string) {
    const { hostname, dsn, clock } = this.#terms
    const { mailFrom, rcptTo, smtpUtf8 } = session.envelope
    const smtputf8 = smtpUtf8 === true
    const named = rcptTo.map(({ address, args }): string | AskedRecipient => {
      const asked = dsn ? recipientDsn(args, smtputf8) : undefined
      const plain = plainAddress(address, hostname)
      return asked === undefined ? plain : { address: plain, ...asked }
    })
    const handling =
      mailFrom !== false && this.#mayAskHandling(session)
        ? senderHandling(mailFrom.args, clock.wallMs())
        : undefined
    return {
      sender,
      recipients: this.#relay.recipients?.of(rcptTo, named) ?? named,
      smtputf8,
      dsn: dsn && mailFrom !== false ? senderDsn(mailFrom.args) : undefined,
      ...handling,
    }
  }

  /** Empty where none is written. */
  #receivedHeader(session: SMTPServerSession, id: string): Buffer {
    const { hostname, received, clock } = this.#terms
    if (!received) return Buffer.alloc(0)
    const { rcptTo } = session.envelope
    return receivedHeader({
      helo: session.hostNameAppearsAs,
      address: session.remoteAddress,
      hostname,
      protocol: session.transmissionType,
      id,
      recipient: rcptTo.length === 1 ? plainAddress(rcptTo[0]?.address ?? '', hostname) : undefined,
      atMs: clock.wallMs(),
    })
  }

  #mayAskHandling(session: SMTPServerSession): boolean {
    return this.#relay.mayAskHandling?.(session) === true
  }
}

/** Of one message of one session. */
const uniqueOf = (session: SMTPServerSession): string => `${session.id}.${session.transaction}`

/** smtp-server turns a domain's xn-- form into letters, which only SMTPUTF8 servers take: with an
 * ASCII name before it, it is turned back. Behind other names it has the one spelling that the DNS
 * has for it: `ü@example。com` would have a Maildir that nobody reads. `postmaster` alone (RFC 5321
 * §4.5.1) is ours. */
export function plainAddress(address: string, hostname: string): string {
  if (address === '') return address
  const at = address.lastIndexOf('@')
  if (at < 0) return `${address}@${hostname}`
  if (isPlain(address)) return address
  const domain = (isPlain(address.slice(0, at)) ? domainToASCII : domainToUnicode)(address.slice(at + 1))
  return domain === '' ? address : address.slice(0, at + 1) + domain
}

const isPlain = (text: string): boolean => !isInternational(text)

/** `Received` fields that a message may have by default. */
export const hopCountDefault = 50

export const loopError = (): ReplyError =>
  new ReplyError({ code: 554, enhanced: '5.4.6' }, 'the message has passed too many relays: a loop')

/** RFC 8689 §4.3: a client that asks for TLS on the whole way gets no 250 from a queue that forgets
 * it. */
const promiseError = (session: SMTPServerSession): ReplyError | undefined =>
  session.envelope.requireTLS === true
    ? new ReplyError({ code: 550, enhanced: '5.7.30' }, 'REQUIRETLS is not supported')
    : undefined

/** RFC 6531 §3.2: an address with other letters than ASCII needs a client that said SMTPUTF8.
 * @param enhanced for an invalid address */
function addressError(
  address: string,
  session: SMTPServerSession,
  enhanced: '5.1.3' | '5.1.7',
): SMTPServerError | null {
  const plain = plainAddress(address, 'localhost')
  if (plain !== '' && !isReadable(plain)) return badAddress(enhanced)
  if (session.envelope.smtpUtf8 === true || isPlain(plain)) return null
  return new ReplyError({ code: 553, enhanced: '5.6.7' }, 'this address needs SMTPUTF8')
}

/** The reply to the client. Trouble of ours is named by its code only: texts hold paths. */
function answerOf(error: unknown, onError: (error: Error) => void): SMTPServerError {
  if (error instanceof ReplyError) return error
  if (!isWaybillError(error)) {
    onError(isError(error) ? error : new Error(String(error)))
    return new ReplyError({ code: 451, enhanced: '4.3.0' }, 'local error, try again later')
  }
  const { code, enhanced } = error.reply
  if (code >= 500) return new ReplyError({ code: code === 501 ? 554 : code, enhanced }, error.message)
  // The reply reaches nobody, but the message counts as refused: no trouble of ours.
  if (error.code === 'SUBMIT_ABORTED') return new ReplyError(error.reply, error.message)
  // Of a full disk clients hear, one after the other; the queue has warned of it once.
  if (error.code !== 'DISK_FULL') onError(error)
  const text = error.code === 'DISK_FULL' ? 'insufficient system storage' : 'local error'
  return new ReplyError(error.reply, `${text}, try again later`)
}
