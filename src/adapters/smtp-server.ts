/** `waybill/smtp-server`: handlers for an embedder's server,
 * `new SMTPServer({ ...smtpHandlers(queue) })`.
 * Invariant: they are the relay's handlers, so `250` to the data means durable. Permission to send,
 * greetings, TLS and authentication are the embedder's: without its check the server takes mail
 * from everyone.
 * Replies have enhanced codes (RFC 2034); smtp-server adds none unless
 * `hideENHANCEDSTATUSCODES: false`. */
import { checkOptionNames, type OptionNames } from '../base/options.js'
import type { Handling } from '../relay/parameters/handling-parameters.js'
import type { StartQueue } from '../relay/etrn.js'
import {
  smtpHandlers as relayHandlers,
  type Client,
  type Handler,
  type SmtpHandlerOptions,
  type SmtpHandlers,
  type SubmitPort,
} from '../relay/smtp-in/smtp-handlers.js'
import type { Trace } from '../relay/smtp-in/received.js'

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

export type { Client, Handler, Handling, SmtpHandlerOptions, SmtpHandlers, StartQueue, SubmitPort, Trace }

/** Options for smtp-server. Each handler can be used alone, or called by the embedder's: the queue
 * refuses at the data what MAIL and RCPT did not. `onData` may get a filter's stream, which must
 * end, or be destroyed if the message is not to be accepted. The session's stream must be read to
 * its end even then (`stream.resume()`): the reply comes after the final dot. An embedder's
 * `onMailFrom` must answer in a later turn:
 * @throws WaybillError OPTION_INVALID */
export function smtpHandlers(queue: SubmitPort, options: SmtpHandlerOptions = {}): SmtpHandlers {
  checkOptionNames(options, names)
  const handlers = relayHandlers(queue, options)
  return {
    ...handlers,
    // The relay's parser may be answered at once; smtp-server's may not, because it then loses a
    // callback:
    //    1. the reply to a message lets the parser read on
    //    2. a pipelining client has sent the whole next message
    //    3. its end is read within the callback of the first: its callback is lost, and no reply is
    //       sent
    onMailFrom: (address, session, done) => queueMicrotask(() => handlers.onMailFrom(address, session, done)),
  }
}
