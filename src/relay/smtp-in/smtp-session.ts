/** A session of smtp-server with our limits, logins, replies and parser (smtp-parser.ts).
 * Invariant: no client is greeted before its wait is over, and one that talks sooner is refused (by
 * smtp-server). The wait costs 20 clients without connection reuse 95 of 100 messages a second, so
 * it is for strangers only. */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { SMTPServer } from 'smtp-server'
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import { etrnDomain, type EtrnAnswer, type StartQueue } from '../etrn.js'
import { clientNetwork } from './client-networks.js'
import { ClientPace } from './client-pace.js'
import { notXtext } from '../parameters/dsn-parameters.js'
import { ExtendedSession } from './extended-session.js'
import type { LoginSession } from './login-session.js'
import { mailPath } from './mail-path.js'
import { clientOf } from './smtp-handlers.js'
import { Parser } from './smtp-parser.js'

export interface Courtesy {
  /** Milliseconds before the greeting. */
  readonly greetDelayMs: number
  /** Sessions that its network may have at once, client-networks.ts; Infinity for trusted
   * clients. */
  readonly sessionsMax: number
}

/** Addresses of a session. */
export interface Ends {
  readonly remoteAddress: string
  readonly localAddress: string
}

/** What a client is granted. */
export type CourtesyTo = (ends: Ends) => Courtesy

/** Refusals of a stranger without an accepted message between them, before it is disconnected: the
 * bound of guessed addresses in a session.
 * @see Postfix smtpd_hard_error_limit */
const refusalCountMax = 20
/** Recipients that a message has no room for, and that count as none of these: they are for the
 * client's next one.
 * @see Postfix smtpd_recipient_overshoot_limit */
const overshootCountMax = 1000

/** Wrong passwords of a client, before it is disconnected. */
const wrongPasswordCountMax = 3

/** A session that has been silent for less gives way to nobody, milliseconds: its next command may
 * be on the way. */
const idleMsMin = 200
/** Clients that wait, beside all places, until one is idle for so long. */
const waitingCountMax = 50

/** For a request, milliseconds. */
export const requestMsOf = ({ options }: SMTPServer): number => options.socketTimeout ?? 300_000

export class Session extends ExtendedSession {
  readonly #courtesyTo: CourtesyTo
  /** All of the server whose socket is open, or whose message or password is undecided. */
  readonly #sessions: Set<Session>
  /** Strangers and others do not take each other's place. A login ends it. */
  #isStranger = false
  /** Of a stranger. */
  #network = ''
  #refusalCount = 0
  #overshootCount = 0
  #wrongPasswordCount = 0
  #replyCount = 0
  /** Its message or password is with the handler, which has not said what becomes of it. */
  #isUndecided = false
  #isLeaving = false
  readonly #pace: ClientPace
  readonly #startQueue: StartQueue | undefined
  /** How much had come when this was last looked at, and when that was. */
  #heardBytes = 0
  #heardAtMs = performance.now()

  constructor(
    server: SMTPServer,
    socket: Socket | TLSSocket,
    options: SMTPConnectionOptions,
    courtesyTo: CourtesyTo,
    sessions: Set<Session>,
    implicitTls: boolean,
    startQueue?: StartQueue,
  ) {
    super(server, socket, options)
    this.#startQueue = startQueue
    this.needsUpgrade = implicitTls
    this.#courtesyTo = courtesyTo
    this.#sessions = sessions.add(this)
    this.#pace = new ClientPace(requestMsOf(server))
  }

  /** Ends a session that is too slow. A trusted one may be, while there are places enough. */
  look(passedMs: number, isBusy: boolean): void {
    const { _parser: parser, _socket: socket, _dataStream: dataStream } = this
    if (!parser || this._closing || !(this.#isStranger || isBusy)) return
    const isInData = parser._dataMode
    const owesReply =
      this._handlerPending || !this._ready || parser.writableLength > 0 || (dataStream && !isInData)
    const hasTime = this.#pace.looksAlive(
      {
        replyCount: this.#replyCount,
        messageCount: this._transactionCounter,
        bytesRead: socket.bytesRead,
        isInData,
        // A client that does not read its replies is the one that keeps us waiting.
        isOurTurn: Boolean(owesReply) && socket.writableLength === 0,
      },
      passedMs,
    )
    if (!hasTime) this.#turnAway(`4.4.2 ${this.name} has waited too long, try again later`)
  }

  /** A client beyond the bound gets no handshake, which costs more than a session; waiting for one,
   * it could not read a reply. */
  override init(): void {
    const { greetDelayMs, sessionsMax } = this.#courtesyTo(this)
    this.#isStranger = sessionsMax < Infinity
    if (this.#isStranger) this.#network = clientNetwork(this.remoteAddress)
    const isMute = this.needsUpgrade
    const refusal = this.#tooManyOf(sessionsMax)
    this.needsUpgrade &&= refusal === undefined
    const answer = (told: string | undefined): void => {
      if (told !== undefined && isMute) this._socket.destroy()
      else if (told !== undefined) this.#turnAway(told)
      else if (greetDelayMs === 0) this.connectionReady()
      else setTimeout(() => this.connectionReady(), greetDelayMs).unref()
    }
    const again = (): void => {
      if (!this._closing && !this._closed) answer(this.#tooManyOf(sessionsMax))
    }
    this._setListeners(() => {
      if (refusal === this.#tooMany && !isMute && this.#mayWait) setTimeout(again, idleMsMin).unref()
      else answer(refusal)
    })
  }

  /** All places are taken, by sessions that are not idle for long enough yet:
   *    1. A client opens as many sessions as there are places, and says nothing.
   *    2. Another one comes at once, is turned away, and its mail is late. */
  get #mayWait(): boolean {
    return this.#sessions.size - (this._server.options.maxClients ?? Infinity) <= waitingCountMax
  }

  /** The reply to a client without a place. An idle client gives way: it can come again, and the
   * new one has something to send.
   * @see Postfix smtpd_timeout under stress */
  #tooManyOf(sessionsMax: number): string | undefined {
    if (this.#areTooMany() && !this.#takesPlaceOfIdlest()) return this.#tooMany
    if (this.#isStranger && this.#count((other) => other.#network === this.#network) > sessionsMax)
      return `4.7.0 ${this.name} has too many sessions from ${this.#network}, try again later`
    return undefined
  }

  /** Of the same kind, without a message begun, silent for longest and for `idleMsMin` at least. */
  #takesPlaceOfIdlest(): boolean {
    let idlest: Session | undefined
    for (const other of this.#sessions)
      if (other !== this && other.#isStranger === this.#isStranger && other.#isIdle())
        if (idlest === undefined || other.#heardAtMs < idlest.#heardAtMs) idlest = other
    if (idlest === undefined) return false
    idlest.#turnAway(`4.3.2 ${this.name} is busy, and this session was idle; try again later`)
    this.#sessions.delete(idlest)
    return true
  }

  #isIdle(): boolean {
    const { _parser: parser, _socket: socket } = this
    if (socket.bytesRead !== this.#heardBytes) {
      this.#heardBytes = socket.bytesRead
      this.#heardAtMs = performance.now()
    }
    const hasBegun = this.session.envelope?.mailFrom !== false || (parser && parser._dataMode)
    const isBetween = !hasBegun && !this._handlerPending && !this.#isUndecided
    return isBetween && !this._closing && performance.now() - this.#heardAtMs >= idleMsMin
  }

  get #tooMany(): string {
    return `4.3.2 ${this.name} has too many sessions, try again later`
  }

  /** Strangers, or others: as what this one is. */
  #areTooMany(): boolean {
    const { maxClients: allMax = Infinity } = this._server.options
    return (
      this.#sessions.size > allMax && this.#count((other) => other.#isStranger === this.#isStranger) > allMax
    )
  }

  /** This one counts. Smtp-server forgets a session with its last reply and waits five seconds for
   * the client's side:
   *    1. a thousand clients a second say QUIT, or are turned away, and stay
   *    2. no descriptor is left
   *    3. the queue cannot open a file */
  #count(isLike: (other: Session) => boolean): number {
    let count = 0
    for (const other of this.#sessions) if (isLike(other)) count++
    return count
  }

  /** Without waiting for the client's side. */
  #turnAway(text: string): void {
    this.send(421, text)
    this._socket.destroySoon()
  }

  /** It is also armed for the socket on which a handshake begins: a client that ends its side
   * instead has left. */
  override _armTimeout(socket: Socket | TLSSocket = this._socket): void {
    super._armTimeout(socket)
    if (this._upgrading) socket.once('end', () => void (this._upgrading && socket.destroy()))
  }

  /** A message, or a password, holds the place of its session until it is decided, for it holds
   * memory as long:
   *    1. the disk is busy
   *    2. a client sends a message and leaves without waiting for the reply, and again, as fast as
   *       the network is
   *    3. no session is open, and all these messages wait */
  setUndecided(isUndecided: boolean): void {
    this.#isUndecided = isUndecided
    if (!isUndecided && this._closed) this.#sessions.delete(this)
    // Behind the reply, which is written in this turn.
    if (!isUndecided && this.#isLeaving) setImmediate(() => this.leave())
  }

  /** The relay ends (RFC 5321 §3.8). A message that has come as a whole is answered first:
   *    1. it is durable
   *    2. the session ends, without the reply
   *    3. the client sends it again, and the recipients get it twice */
  leave(): void {
    this.#isLeaving = true
    const { _parser: parser, _closed: isClosed, _closing: isClosing } = this
    if (isClosed || isClosing || (this.#isUndecided && parser && !parser._dataMode)) return
    if (this._upgrading || (this.needsUpgrade && !this.secure)) this._socket.destroy()
    else this.#turnAway(`4.3.2 ${this.name} is shutting down, try again later`)
  }

  protected override get mayAskHandling(): boolean {
    return !this.#isStranger
  }

  /** A message of its is in the queue. */
  forgive(): void {
    this.#refusalCount = 0
    this.#overshootCount = 0
  }

  override _onClose(): void {
    if (!this.#isUndecided) this.#sessions.delete(this)
    super._onClose()
  }

  /** The path is read by mail-path.ts, the parameters by smtp-server. What is no xtext it would
   * take as it stands, `+zz` for three characters: here it becomes a value that none can have. */
  override _parseAddressCommand(
    name: string,
    command: Buffer | string,
  ): ReturnType<LoginSession['_parseAddressCommand']> {
    const text = String(command)
    const colon = text.indexOf(':')
    const path = mailPath(text.slice(colon + 1), !this.#isStranger)
    if (path === undefined) return false
    const verb = this.#isStranger ? text.slice(0, colon) : text.slice(0, colon).replace(/\s+/g, ' ')
    const parsed = super._parseAddressCommand(name, `${verb}:<> ${path.rest}`)
    if (!parsed) return false
    if (parsed.args) for (const wrong of notXtext(text)) parsed.args[wrong] = '\0'
    return { ...parsed, address: path.address }
  }

  /** Some devices say neither HELO nor EHLO, or begin their lines with blanks, as shell scripts do.
   * @see Postfix smtpd_helo_required, smtpd_token.c */
  override _onCommand(line: Buffer, done?: () => void): void {
    const command = this.#isStranger ? line : withoutIndent(line)
    if (!this.hostNameAppearsAs && !this.#isStranger && /^mail\b/i.test(command.toString())) {
      const { remoteAddress } = this
      this.openingCommand = 'HELO'
      this.hostNameAppearsAs = remoteAddress.includes(':') ? `[IPv6:${remoteAddress}]` : `[${remoteAddress}]`
      this._resetSession()
    }
    super._onCommand(command, done)
  }

  /** Devices call themselves `HP LaserJet 4`; the name decides nothing, and Postfix takes it
   * from everyone, too. */
  override handler_HELO(command: Buffer, done: () => void): void {
    super.handler_HELO(inOneWord(command), done)
  }

  override handler_EHLO(command: Buffer, done: () => void): void {
    super.handler_EHLO(inOneWord(command), done)
  }

  /** RFC 5321 §3.5.3: nobody learns from it which addresses there are. */
  override handler_VRFY(_command: Buffer, done: () => void): void {
    this.send(252, '2.0.0 Cannot VRFY user; try RCPT', false)
    done()
  }

  override _createParser(): SMTPStream {
    const { maxCommandLength } = this._server.options
    const parser = new Parser({ maxCommandLength })
    parser.oncommand = (command, done) => {
      parser.commandCount++
      this._onCommand(command, done)
    }
    parser.on('error', (error) => this.send(421, `Error: ${error.message}`))
    // All is read and answered, and the client has ended its side.
    parser.on('finish', () => this.close())
    return parser
  }

  /** The session of a client that waited for all replies before QUIT is closed as soon as the
   * goodbye is written. Smtp-server waits for the client's side, and a client that resets the
   * connection costs an error, its stack and two events: 5 % of a session. For others it has to
   * wait:
   *    1. message and QUIT in one piece
   *    2. closed behind 250 and 221
   *    3. the client sends a byte more
   *    4. the kernel answers with a reset, and forgets the replies that it has not sent: the client
   *       sends the message again */
  override handler_QUIT(command: Buffer, done: () => void): void {
    const { _parser: parser, secure } = this
    super.handler_QUIT(command, done)
    if (!secure && parser instanceof Parser && parser.commandCount === 1) this._socket.destroySoon()
  }

  /** RFC 1985. */
  handler_ETRN(command: Buffer, done: () => void): void {
    const answer = this.#etrnAnswer(String(command))
    this.send(answer.code, answer.text, false)
    done()
  }

  #etrnAnswer(line: string): EtrnAnswer {
    if (this.#startQueue === undefined) return { code: 502, text: '5.5.1 ETRN is not here' }
    if (!this.hostNameAppearsAs) return { code: 503, text: '5.5.1 send EHLO first' }
    if (this.session.envelope?.mailFrom) return { code: 503, text: '5.5.1 not within a message' }
    if (this.#isStranger) return { code: 459, text: '5.7.1 ETRN is for clients that may relay' }
    const domain = etrnDomain(line)
    if (typeof domain !== 'string') return domain
    this.#startQueue(domain, clientOf(this.session))
    return { code: 250, text: `2.0.0 queuing for node ${domain} started` }
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    this.#replyCount++
    // Smtp-server does not answer a client that has ended its side.
    const { _socket: socket } = this
    if (socket.readyState === 'writeOnly') Object.defineProperty(socket, 'readyState', { value: 'open' })
    const isOvershoot =
      code === 452 && (context === 'TOO_MANY_RECIPIENTS' || String(data).startsWith('4.5.3 '))
    const counts =
      code >= 400 && code !== 421 && !(isOvershoot && ++this.#overshootCount <= overshootCountMax)
    if (counts && ++this.#refusalCount > refusalCountMax && this.#isStranger)
      return this.#turnAway(`4.7.0 ${this.name} has refused too much, try again later`)
    if (code === 235 && this.#isStranger) {
      this.#isStranger = false
      this.#network = ''
      if (this.#areTooMany()) return this.#turnAway(this.#tooMany)
    }
    const hasOwnCode = typeof data === 'string' && /^[245]\.\d{1,3}\.\d{1,3} /.test(data)
    const offersEtrn = this.#startQueue !== undefined && !this.#isStranger
    const isEhlo = code === 250 && Array.isArray(data) && data.length > 1
    super.send(code, offersEtrn && isEhlo ? [...data, 'ETRN'] : data, hasOwnCode ? false : context)
    if (code === 535 && ++this.#wrongPasswordCount >= wrongPasswordCountMax)
      this.#turnAway(`4.7.0 ${this.name} has refused too many passwords`)
  }
}

function withoutIndent(line: Buffer): Buffer {
  let start = 0
  while (line[start] === 0x20 || line[start] === 0x09) start++
  return line.subarray(start)
}

/** A greeting with a name of one word. */
function inOneWord(command: Buffer): Buffer {
  const [verb = '', ...words] = command.toString().trim().split(/\s+/)
  return words.length < 2 ? command : Buffer.from(`${verb} ${words.join('-')}`)
}
