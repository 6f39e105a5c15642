/** A connection that waits for each reply as long as its command deserves, and says which reply it
 * waited for when it ends.
 * Invariant: while replies are outstanding, the silence that the server may keep is that of the
 * oldest one's command; between the 354 and the end of the data it is that of data that does not
 * move on.
 * @see Postfix smtp_helo_timeout, smtp_mail_timeout, smtp_rcpt_timeout, smtp_data_init_timeout,
 * smtp_data_xfer_timeout, smtp_data_done_timeout; RFC 5321 §4.5.3.2 */
import { setImmediate } from 'node:timers'
import SMTPConnection, { type Options } from 'nodemailer/lib/smtp-connection'

export type Phase = 'helo' | 'mail' | 'rcpt' | 'dataInit' | 'dataXfer' | 'dataDone' | 'other'

/** Milliseconds without an octet. */
export type PhaseTimes = Readonly<Record<Phase, number>>

/** Members of nodemailer's connection that its types keep back; the test of each phase fails
 * when one is gone. */
interface Hidden {
  readonly _responseActions: readonly unknown[]
  readonly upgrading?: boolean
  _onError(this: SMTPConnection, error: Error, code: string, response: string | false, command: string): void
  _onTimeout(this: SMTPConnection): void
  _processResponse(this: SMTPConnection): void
  _sendCommand(this: SMTPConnection, line: string, logged?: string): void
}
const hidden = SMTPConnection.prototype as unknown as Hidden

/** All members of nodemailer's connection on which this room stands though they are undocumented.
 * Any release may rename one: the relay then refuses to start (serve.ts), and loses no mail. */
const undocumented = [
  '_actionDATA',
  '_actionLMTPStream',
  '_actionSMTPStream',
  '_actionSTARTTLS',
  '_createSendStream',
  '_onConnect',
  '_onData',
  '_onError',
  '_onTimeout',
  '_plaintextEhlo',
  '_processResponse',
  '_remainder',
  '_responseActions',
  '_responsePartial',
  '_responseQueue',
  '_sendCommand',
  '_socket',
  '_upgradeConnection',
  'lastServerResponse',
] as const

/** @throws Error that names a member which this release of nodemailer does not have */
export function checkMembers(connection: object): void {
  for (const name of undocumented)
    if (!(name in connection))
      throw new Error(`this release of nodemailer has no ${name}: install the one of package-lock.json`)
}
checkMembers(new SMTPConnection({}))

const phases: Readonly<Record<string, Phase>> = {
  EHLO: 'helo',
  HELO: 'helo',
  LHLO: 'helo',
  MAIL: 'mail',
  RCPT: 'rcpt',
  DATA: 'dataInit',
}

/** What nodemailer says of a connection that ended, and how the words for operators begin. */
const endings: Readonly<Record<string, string>> = {
  Timeout: 'timed out',
  'Greeting never received': 'timed out',
  'Connection closed unexpectedly': 'the connection was closed',
}

/** A line of a login is a secret. */
const namedCommand = /^(?:EHLO|HELO|LHLO|STARTTLS|AUTH|MAIL|RCPT|DATA|RSET)(?=[ ]|$)/i

interface Awaited {
  readonly phase: Phase
  /** As operators read it. */
  readonly what: string
}

/** Behind the end of the data smtp-outcome.ts says more. */
const dataWaits = { dataXfer: ' while the data was sent', dataDone: '' } as const

export class PhasedConnection extends SMTPConnection {
  readonly #times: PhaseTimes
  /** Commands without a reply, the oldest first; or the data. */
  readonly #awaited: Awaited[] = []
  /** The data leaves, or has left. */
  #dataPhase: keyof typeof dataWaits | undefined

  constructor(options: Options, times: PhaseTimes) {
    super(options)
    this.#times = times
  }

  /** What the server may take from now on. */
  allow(phase: Phase): void {
    const ms = this.#times[phase]
    const socket = this._socket
    if (socket && !socket.destroyed && socket.timeout !== ms) socket.setTimeout(ms)
  }

  /** The data leaves, or has left: every reply before it has come. */
  allowData(phase: keyof typeof dataWaits): void {
    this.#awaited.splice(0, Infinity, { phase, what: 'the reply to the data' })
    this.#dataPhase = phase
    this.allow(phase)
  }

  _sendCommand(line: string, logged?: string): void {
    this.#dataPhase = undefined
    const command = namedCommand.exec(line)?.[0].toUpperCase()
    const phase = phases[line.slice(0, 4).toUpperCase()] ?? 'other'
    this.#awaited.push({ phase, what: `the reply to ${command ?? 'a command'}` })
    hidden._sendCommand.call(this, line, logged)
    // Nodemailer expects the reply to STARTTLS behind this.
    this.allow(this.#awaited[0]!.phase)
  }

  _processResponse(): void {
    hidden._processResponse.call(this)
    this.#allowOldest()
  }

  /** Timers run before the network is looked at: a reply that came while the program computed
   * counts. The message that it accepts would be sent a second time. */
  _onTimeout(): void {
    const socket = this._socket
    const heardBytes = bytesHeard(socket)
    setImmediate(() => {
      if (this._socket === socket && bytesHeard(socket) === heardBytes) hidden._onTimeout.call(this)
    })
  }

  /** An error without a reply says what was waited for. */
  _onError(error: Error, code: string, response: string | false, command: string): void {
    if (response === false) this.nameWait(error)
    hidden._onError.call(this, error, code, response, command)
  }

  /** In the same turn as the end: replies that will not come are forgotten behind it. */
  protected nameWait(error: Error): void {
    const ending = endings[error.message] ?? (isOfSocket(error) ? error.message : undefined)
    if (ending !== undefined) error.message = ending + this.#wait()
  }

  /** @returns '' before there is a connection, and within a handshake */
  #wait(): string {
    if (this.#dataPhase !== undefined) return dataWaits[this.#dataPhase]
    const { _responseActions: asked, upgrading } = this as unknown as Hidden
    if (asked.length === 0 || upgrading === true) return ''
    return ` while waiting for ${this.#oldest()?.what ?? 'the greeting'}`
  }

  #oldest(): Awaited | undefined {
    const { _responseActions: asked } = this as unknown as Hidden
    while (this.#awaited.length > asked.length) this.#awaited.shift()
    return this.#awaited[0]
  }

  #allowOldest(): void {
    const oldest = this.#oldest()
    if (oldest !== undefined) this.allow(oldest.phase)
  }
}

const isOfSocket = (error: Error): boolean => 'syscall' in error && error.syscall !== 'connect'

const bytesHeard = (socket: PhasedConnection['_socket']): number => (socket ? socket.bytesRead : 0)
