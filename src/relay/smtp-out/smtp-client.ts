/** One connection to a server, over nodemailer's.
 * Invariant: `transact` settles exactly once with what is known of the transaction, however
 * it ended; an error never escapes as an event. Nodemailer takes our envelope object and
 * notes each recipient's reply in it, so that what was answered before the connection broke
 * is not lost with it. */
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers'
import SMTPConnection, { type Options, type SMTPEnvelope } from 'nodemailer/lib/smtp-connection'
import { isInternational, withNeededQuotes } from '../../base/mail-address.js'
import { utf8Text } from '../../base/text.js'
import type { Transcript } from '../../delivery/conversation.js'
import type { OutcomeTls, RequestDsn } from '../../delivery/transport.js'
import {
  handshakeFailed,
  lost,
  startTlsRefused,
  stepFault,
  isClosing,
  isRefusal,
  type ClientError,
} from './smtp-reply.js'
import { lifeOf, noSink, passOn, passPieces, type DataSink } from './data-sink.js'
import { recipientWords, senderWords } from './dsn-words.js'
import { leavesAsItStands, wroteAtOnce } from '../mime/plain-data.js'
import { PhasedConnection, type PhaseTimes } from './phased-connection.js'
import { tlsSessionOf } from './tls-terms.js'
import type { Mail, RecipientReply, Transaction } from './transaction.js'

/** What nodemailer writes into the envelope it was given. */
interface NotedEnvelope extends SMTPEnvelope {
  accepted?: string[]
  rejectedErrors?: ClientError[]
  mailError?: ClientError
}

/** Members of nodemailer's connection that its types keep back; the tests of SMTPUTF8 and of late
 * greetings fail when one is gone. */
interface Hidden {
  /** What EHLO was answered last, without the name of the server. */
  readonly _ehloLines: readonly string[] | undefined
  readonly _remainder: string
  /** The whole of that while the session is not yet encrypted that is to be. */
  readonly _plaintextEhlo: string | false
  readonly _responseQueue: readonly string[]
  /** The last of them goes on. */
  readonly _responsePartial: boolean
  readonly _responseActions: ((reply: string) => void)[]
  _onConnect(this: SMTPConnection): void
  _actionDATA(this: SMTPConnection, reply: string, begun: Answered): void
  _actionSTARTTLS(this: SMTPConnection, reply: string): void
  _createSendStream(this: SMTPConnection, answered: Answered): DataSink
  _actionSMTPStream(this: SMTPConnection, reply: string, answered: Answered): void
  _onData(this: SMTPConnection, chunk: Buffer): void
  _onError(this: SMTPConnection, error: Error, code: string, response: string | false, command: string): void
}
const hidden = SMTPConnection.prototype as unknown as Hidden

/** The result for nodemailer when the server has answered the end of a message. */
type Answered = (error: ClientError | null, reply?: string) => void

/** Nodemailer refuses angle brackets, which a quoted local part may have (RFC 5321 §4.1.2), so it
 * sees two characters that no address has. */
const coded = (address: string): string =>
  withNeededQuotes(address).replaceAll('<', '\u0001').replaceAll('>', '\u0002')
const decoded = (text: string): string => text.replaceAll('\u0001', '<').replaceAll('\u0002', '>')

const withDecoded = <T extends { readonly recipient?: string | undefined }>(reply: T): T =>
  reply.recipient === undefined ? reply : Object.assign(reply, { recipient: decoded(reply.recipient) })

/** Of a reply whose characters stand for octets: UTF-8 where it is that. */
const textOf = (reply: string): string =>
  isInternational(reply) ? (utf8Text(Buffer.from(reply, 'latin1')) ?? reply) : reply

export class SmtpClient extends PhasedConnection {
  /** Transactions begun on this connection. */
  transactionCount = 0
  /** When it had no mail any more, by the pool's clock. */
  idleSinceMs = 0
  /** Plaintext because a TLS handshake with this server failed. */
  isFallback = false
  /** What the handshake came to; undefined: the session is not encrypted. */
  tlsSession: OutcomeTls | undefined
  /** The certificate was looked at in another way than by a root, and is right. */
  isPeerChecked = false
  /** Takes down what is said; undefined: nobody asks for it. */
  transcript: Transcript | undefined
  /** Plaintext because the server offered STARTTLS and did not mean it. */
  refusedTls = false
  #saysSmtputf8 = false
  #dsn: RequestDsn | undefined
  /** Of the transaction under way, unless it is a stream: a connection that waits holds nothing. */
  #whole: Buffer | undefined
  /** Recipients of the transaction that the server has been told. */
  #toldCount = 0
  #replies: RecipientReply[] = []
  /** The end of its data has left. */
  #dotSent = false
  /** Called when the connection ends; nodemailer does not tell a transaction of every way
   * in which it can. */
  #ended: (() => void) | undefined
  #lastError: ClientError | undefined

  constructor(options: Options, times: PhaseTimes) {
    super(options, times)
    this.on('error', (error: ClientError) => {
      if (this.upgrading === true) this.#lastError = handshakeFailed(error)
      else if (error.code === 'ETLS')
        this.#lastError = startTlsRefused(error, (this as unknown as Hidden)._plaintextEhlo || '')
      else this.#lastError = error
    })
    this.on('end', () => {
      // Its own callback goes first: it knows more.
      setImmediate(() => this.#ended?.())
    })
  }

  /** Nodemailer looks for the word anywhere, in the server's name too. */
  offers(extension: string): boolean {
    const lines = (this as unknown as Hidden)._ehloLines ?? []
    return lines.some((line) => line.split(/\s/, 1)[0]!.toUpperCase() === extension)
  }

  /** It speaks LMTP: what it takes is where it was to go, and it answers for each
   * recipient. RFC 2033 */
  get isFinal(): boolean {
    return this.options.lmtp === true
  }

  /** The server has said more than it was asked: it would be taken for the answer to what it
   * is asked next. */
  get isOutOfStep(): boolean {
    const { _responseQueue, _responseActions, _remainder } = this as unknown as Hidden
    const replies = _responseQueue.filter((reply) => reply.trim() !== '')
    return replies.length > _responseActions.length || _remainder !== ''
  }

  /** The end of the data has left, and the server has not answered to it. */
  get isBehindData(): boolean {
    return this.#dotSent && this.#ended !== undefined
  }

  /** Greeting, EHLO and TLS. @returns the error that ended it. */
  open(): Promise<ClientError | undefined> {
    return new Promise((resolve) => {
      this.#ended = () => resolve(this.#lastError ?? lost())
      this.connect((error?: ClientError) => {
        // Of a server that closes before its greeting this is all that nodemailer says.
        if (error?.code === 'ECONNECTION') this.nameWait(error)
        if (this.secure) this.tlsSession = tlsSessionOf(this._socket, this.isPeerChecked)
        resolve(error)
      })
    })
  }

  /** @returns the error of a server that did not take them. */
  authenticate(user: string, pass: string): Promise<ClientError | undefined> {
    this.#noteSecret(true)
    return new Promise((resolve) => {
      this.#ended = () => resolve(this.#lastError ?? lost())
      this.login({ user, pass }, (error: ClientError | null) => {
        this.#noteSecret(false)
        resolve(error ?? undefined)
      })
    })
  }

  #noteSecret(isSecret: boolean): void {
    if (this.transcript === undefined) return
    if (isSecret) this.transcript.add('client', 'AUTH …')
    this.transcript.isSecret = isSecret
  }

  transact(mail: Mail): Promise<Transaction> {
    this.transactionCount++
    this.#saysSmtputf8 = mail.smtputf8
    this.#dsn = this.offers('DSN') ? mail.dsn : undefined
    this.#toldCount = 0
    this.#replies = []
    this.lastServerResponse = false
    const { data } = mail
    this.#whole = Buffer.isBuffer(data) ? data : undefined
    const envelope: NotedEnvelope = {
      from: coded(mail.sender),
      to: mail.recipients.map(coded),
      size: mail.dataBytes,
      use8BitMime: mail.eightBit,
    }
    this.#dotSent = false
    let hasBegun = false
    return new Promise((resolve) => {
      const end = (error: ClientError | undefined, response: string | undefined): void => {
        this.#ended = undefined
        this.#whole = undefined
        const dotSent = this.#dotSent
        this.allow('other')
        const isInStep = error?.code !== 'EPROTOCOL'
        resolve({
          response,
          // It ended there, whatever came behind it: recipients of a transaction that never was are
          // refused for no fault of theirs.
          error: isInStep ? (envelope.mailError ?? error) : error,
          accepted: (envelope.accepted ?? []).map(decoded),
          refusals: isInStep ? (envelope.rejectedErrors ?? []).map(withDecoded) : [],
          replies: isInStep ? this.#replies.map(withDecoded) : [],
          dotSent,
          isCut: hasBegun && !dotSent,
          answered: this.lastServerResponse !== false,
        })
      }
      this.#ended = () => end(this.#lastError ?? lost(), undefined)
      const source = {
        pipe: (sink: DataSink | typeof noSink): void => {
          hasBegun = true
          this.allowData('dataXfer')
          const sent = (): void => {
            this.#dotSent = true
            this.allowData('dataDone')
          }
          if (!('once' in sink)) return sent()
          const isWhole = Buffer.isBuffer(data)
          const uncork = isWhole ? this.#corked() : undefined
          sink.once('end', () => {
            uncork?.()
            sent()
          })
          if (isWhole) {
            if ('lastByte' in sink && leavesAsItStands(data)) sink._transform = passOn
            sink.end(data)
            return
          }
          if ('lastByte' in sink) passPieces(sink)
          data.pipe(sink)
        },
        ...(Buffer.isBuffer(data) ? undefined : lifeOf(data)),
      }
      this.send(
        envelope,
        source as unknown as Readable,
        (error: ClientError | null, info?: { response: string }) => end(error ?? undefined, info?.response),
      )
    })
  }

  /** The data and its dot leave in one write. Until the sink has ended, or paused because the
   * socket is full, so at most one turn.
   * @returns what undoes it, once */
  #corked(): () => void {
    const socket = this._socket
    let isCorked = Boolean(socket)
    if (socket) socket.cork()
    const uncork = (): void => {
      if (isCorked && socket) socket.uncork()
      isCorked = false
    }
    setImmediate(uncork)
    return uncork
  }

  /** Leaves a transaction that was refused. @returns whether the session can go on. */
  clear(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#ended = () => resolve(false)
      this.reset((error: ClientError | null) => resolve(error === null))
    })
  }

  /** Nodemailer counts the greeting and the handshake against the time for connecting: a server
   * that greets late (RFC 5321 §4.5.3.2.1 gives it five minutes) would never have its mail. */
  _onConnect(): void {
    Object.assign(this, { _connectionDeadline: Infinity })
    hidden._onConnect.call(this)
  }

  /** A server that closes says nothing of TLS, and is asked for nothing more. */
  _actionSTARTTLS(reply: string): void {
    this.refusedTls = isRefusal(reply)
    if (!isClosing(reply)) return hidden._actionSTARTTLS.call(this, reply)
    const error = new Error('Server terminates connection')
    hidden._onError.call(this, error, 'ECONNECTION', reply, 'STARTTLS')
  }

  /** Nodemailer takes 250 for a 354, and what stands behind that for the answer to the message.
   *    1. a line too many in an answer: each reply is taken for that to the next command
   *    2. the data leaves behind the reply to a recipient
   *    3. the 354 counts as the answer to the message, which is taken, put off, and taken again at
   *       each attempt
   *    4. or the server waits for commands, and the message is read as some; or says 250 too many,
   *       and that the message is not taken then */
  _actionDATA(reply: string, begun: Answered): void {
    if (reply.startsWith('2') || (reply.startsWith('3') && this.isOutOfStep))
      begun(Object.assign(new Error(`not the answer to DATA: ${reply}`), { code: 'EPROTOCOL' }))
    else hidden._actionDATA.call(this, reply, begun)
  }

  /** Nodemailer looks at one reply in a turn, at none while the last one goes on, and at no more of
   * them when the connection has ended:
   *    1. LMTP, fifty recipients
   *    2. the server takes the message for all, and closes
   *    3. three have it, the others get it again */
  override _processResponse(): void {
    const own = this as unknown as Hidden
    const waitingCount = (): number => own._responseQueue.length - (own._responsePartial ? 1 : 0)
    const fault = stepFault({
      waiting: own._responseQueue.slice(0, waitingCount()),
      askedCount: own._responseActions.length,
      isBehindData: this.#dotSent,
      said: this.isFinal ? this.#replies.map(({ response }) => response) : undefined,
    })
    if (fault !== undefined) hidden._onError.call(this, new Error(textOf(fault)), 'EPROTOCOL', false, 'CONN')
    while (!this.destroyed && waitingCount() > 0) {
      this.transcript?.add('server', textOf(own._responseQueue[0]!))
      super._processResponse()
    }
  }

  _onData(chunk: Buffer): void {
    hidden._onData.call(this, chunk)
    this._processResponse()
  }

  /** A stream between data and socket, one for each message, costs 4 % of it: where the data can do
   * without, it does. */
  _createSendStream(answered: Answered): DataSink | typeof noSink {
    const { _socket: socket } = this
    if (!socket || this.isFinal || !this.#whole || !wroteAtOnce(socket, this.#whole))
      return hidden._createSendStream.call(this, answered)
    const { _responseActions } = this as unknown as Hidden
    _responseActions.push((reply) => hidden._actionSMTPStream.call(this, reply, answered))
    return noSink
  }

  /** Nodemailer keeps of what was refused, and tells of the rest the last reply, whatever that is.
   * One that comes before the end of the data ends the transaction: no recipient has the message,
   * and the meaning of further replies is unknown. */
  _actionLMTPStream(recipient: string, isLast: boolean, reply: string, answered: Answered): void {
    if (this.#dotSent || isRefusal(reply)) this.#replies.push({ recipient, response: reply })
    if (isLast || !this.#dotSent) answered(null, reply)
  }

  override _sendCommand(line: string, logged?: string): void {
    const whole = decoded(line) + this.#wordsBehind(line)
    this.transcript?.add('client', logged ?? whole)
    super._sendCommand(whole, logged)
  }

  /** A message that needs SMTPUTF8 for its header has to say so; nodemailer looks at the addresses
   * only. It would ask the same for each recipient, and writes the commas of a list as xtext. */
  #wordsBehind(line: string): string {
    if (line.startsWith('RCPT TO:')) return this.#dsn ? recipientWords(this.#dsn, this.#toldCount++) : ''
    if (!line.startsWith('MAIL FROM:')) return ''
    const adds = this.#saysSmtputf8 && this.offers('SMTPUTF8') && !line.includes('> SMTPUTF8')
    return (adds ? ' SMTPUTF8' : '') + (this.#dsn ? senderWords(this.#dsn) : '')
  }
}
