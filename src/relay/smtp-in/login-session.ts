/** AUTH as RFC 4954 asks for it, where smtp-server differs.
 * Invariant: a password is asked for over TLS only, whatever the client's address. A line that is
 * no base64 is refused before a handler hears of it. smtp-server does the rest: one login a
 * session, `*` cancels, a line has an end. */
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'

/** Padding is not missed; `=` alone is a response of no octets. */
const isBase64 = (text: string): boolean => /^[A-Za-z\d+/]*={0,2}$/.test(text)
const isResponse = (line: string): boolean => line === '*' || isBase64(line)

export class LoginSession extends SMTPConnection {
  /** Smtp-server offers it in plaintext as well. */
  override _isSupported(command: string): boolean {
    return (command !== 'AUTH' || this.secure) && super._isSupported(command)
  }

  override handler_AUTH(command: Buffer, done: () => void): void {
    const [, , response = ''] = command.toString().trim().split(/\s+/)
    const isOutOfPlace = this.openingCommand !== 'EHLO' || this.session.envelope.mailFrom !== false
    if (isOutOfPlace) this.#refuse(503, '5.5.1 AUTH comes behind EHLO, and before MAIL', done)
    else if (!isBase64(response)) this.#refuse(501, '5.5.2 not base64', done)
    else super.handler_AUTH(command, done)
  }

  override _onCommand(command: Buffer, done: () => void = () => {}): void {
    if (this._nextHandler === false || isResponse(command.toString().trim())) {
      super._onCommand(command, done)
      return
    }
    this._nextHandler = false
    this.#refuse(501, '5.5.2 not base64', () => this._whenWritable(done))
  }

  #refuse(code: number, text: string, done: () => void): void {
    this.send(code, text, false)
    done()
  }
}
