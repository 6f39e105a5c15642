/** A reply that is no 250, as smtp-server takes it from a handler. */
import type { SMTPServerError } from 'smtp-server'
import type { SmtpReply } from '../../errors.js'

export class ReplyError extends Error implements SMTPServerError {
  readonly responseCode: number

  constructor({ code, enhanced }: SmtpReply, text: string) {
    super(`${enhanced} ${text}`)
    this.responseCode = code
  }
}
