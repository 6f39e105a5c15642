/** `waybill/smtp-server`: handlers for an smtp-server of the embedder's own, `new SMTPServer({ ...smtpHandlers(queue) })`.
 * Invariant: they are the relay's own, so `250` to the data means durable here as there. Who may send, greetings, TLS and
 * authentication are the embedder's: without a check of his the server takes mail from everyone.
 * Replies bring their enhanced codes (RFC 2034); smtp-server writes none of its own unless `hideENHANCEDSTATUSCODES: false`. */
import { checkOptionNames, type OptionNames } from '../base/option-names.js'
import {
  smtpHandlers as relayHandlers,
  type SmtpHandlerOptions,
  type SmtpHandlers,
  type SubmitPort,
} from '../relay/smtp-in/smtp-handlers.js'

const names: OptionNames<SmtpHandlerOptions> = {
  hostname: true,
  sizeBytesMax: true,
  recipientCountMax: true,
  received: true,
  hopCountMax: true,
  dsn: true,
  clock: true,
  onError: true,
}

export type { SmtpHandlerOptions, SmtpHandlers, SubmitPort }

/** Options for smtp-server. Each handler can be used alone, or called by one of the embedder's: what is not refused at MAIL and RCPT, the
 * queue refuses at the data. `onData` may be given another stream, a filter's: it has to end, or to be destroyed when the message is
 * not to be accepted. The session's own has to be read to its end even then (`stream.resume()`): the reply comes after the final dot. An
 * `onMailFrom` of the embedder's own answers in a later turn, for the reason below.
 * @throws WaybillError OPTION_INVALID */
export function smtpHandlers(queue: SubmitPort, options: SmtpHandlerOptions = {}): SmtpHandlers {
  checkOptionNames(options, names)
  const handlers = relayHandlers(queue, options)
  return {
    ...handlers,
    // The relay's parser may be answered at once, smtp-server's own may not: it forgets how to go on.
    //    // 1. the reply to a message lets it read on  2. a client that waits for nothing has sent the whole next message
    //    // 3. its end is read within the callback of the first, and its own callback is forgotten: no reply, ever
    onMailFrom: (address, session, done) => queueMicrotask(() => handlers.onMailFrom(address, session, done)),
  }
}
