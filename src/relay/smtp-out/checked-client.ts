/** A connection that checks the server's certificate.
 * Invariant: the server's certificates are checked between the handshake and the first word over
 * TLS, in the same turn. A wrong server hears nothing, and the connection ends as after a handshake
 * that fails. The opener of a session checks `isPeerChecked`, in case another version of nodemailer
 * skips the check. */
import type { TLSSocket } from 'node:tls'
import SMTPConnection, { type Options } from 'nodemailer/lib/smtp-connection'
import type { PhaseTimes } from './phased-connection.js'
import { SmtpClient } from './smtp-client.js'

export { SmtpClient }

/** @returns why it is the wrong server */
export type PeerCheck = (socket: TLSSocket) => string | undefined

type Upgraded = (error: Error | null, isSecured?: boolean) => void

/** Members of nodemailer's connection that its types keep back; the tests of DANE fail
 * when one is gone. */
interface Hidden {
  _upgradeConnection(this: SMTPConnection, upgraded: Upgraded): void
  _onError(this: SMTPConnection, error: Error, code: string, response: false, command: string): void
}
const hidden = SMTPConnection.prototype as unknown as Hidden

export class CheckedClient extends SmtpClient {
  readonly #check: PeerCheck

  constructor(options: Options, times: PhaseTimes, check: PeerCheck) {
    super(options, times)
    this.#check = check
  }

  _upgradeConnection(upgraded: Upgraded): void {
    hidden._upgradeConnection.call(this, (error, isSecured) => {
      if (error !== null) return upgraded(error)
      const fault = this.#faultOf(this._socket as TLSSocket)
      if (fault === undefined) {
        this.isPeerChecked = true
        return upgraded(null, isSecured)
      }
      // Until it has ended this is a part of the handshake.
      this.upgrading = true
      hidden._onError.call(this, new Error(fault), 'ETLS', false, 'STARTTLS')
      this.upgrading = false
    })
  }

  #faultOf(socket: TLSSocket): string | undefined {
    try {
      return this.#check(socket)
    } catch (error) {
      return `the certificate cannot be looked at: ${String(error)}`
    }
  }
}
