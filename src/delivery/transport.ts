/** What a delivery is asked and what it may answer. Nothing about delivery is frozen in the queue: transports and routes are
 * asked anew at every attempt. */
import type { Readable } from 'node:stream'
import type { RecipientDsn, Relayed, Ret } from '../base/notification.js'

/** The TLS of the session over which an outcome came. */
export interface OutcomeTls {
  /** `TLSv1.3` */
  readonly version: string
  readonly cipher: string
  /** The certificate was that of the server that was meant. */
  readonly isVerified: boolean
}

/** What became of one recipient. `response` and `reason` are kept, cut to 500 characters; `status` is an RFC 3463 code.
 * `remote` is the server that said so, printable ASCII of at most 255 characters such as `mx.example.net[192.0.2.1]:25`, and stands only where
 * `response` or `reason` ends with its reply. Log, listings and reports name it. */
export type Outcome =
  | {
      readonly kind: 'delivered'
      readonly remote?: string | undefined
      /** undefined: the session was not encrypted, or there was none. */
      readonly tls?: OutcomeTls | undefined
      readonly response?: string | undefined
      /** It went on to a server: `with-dsn` to one that was given `request.dsn` and tells the sender of success, `without-dsn` to one that
       * knows nothing of it. Undefined: it came to its end, in a mailbox. It decides what the sender is told who asked for successes. */
      readonly relayed?: Relayed | undefined
    }
  | {
      readonly kind: 'deferred' | 'failed'
      readonly status: string
      readonly reason: string
      readonly remote?: string | undefined
    }

/** The destination itself is in trouble (no connection, no banner, it closed on us): not the fault of this message. */
export interface SiteTrouble {
  readonly kind: 'site'
  readonly status: string
  readonly reason: string
  /** As that of an outcome. */
  readonly remote?: string | undefined
}

/** One outcome for every recipient of the request, in its order; or one for all of them. */
export type DeliveryResult = Outcome | SiteTrouble | readonly Outcome[]

export type MessageData = Buffer | { readonly ref: string }

/** What the sender has asked to be told of (RFC 3461), for who passes it on. */
export interface RequestDsn {
  readonly ret: Ret | undefined
  readonly envid: string | undefined
  /** Of each recipient of the request, in its order. */
  readonly recipients: readonly RecipientDsn[]
}

export interface DeliveryRequest {
  /** The message's id, the same at every attempt: good for idempotence on the other side. */
  readonly id: string
  /** Attempts that were started before this one, 0 at first. */
  readonly attempts: number
  readonly sender: string
  /** At least one; all are for `nexthop`. */
  readonly recipients: readonly string[]
  readonly nexthop: string
  /** When the queue accepted it, milliseconds since 1970. */
  readonly acceptedAt: number
  /** Length of the data in bytes; 0 for a reference. */
  readonly dataBytes: number
  readonly smtputf8: boolean
  /** undefined: nothing was asked, as of most mail. */
  readonly dsn?: RequestDsn | undefined
  /** The whole message, verified against its checksum.
   * @throws WaybillError DATA_CORRUPT, LOG_CORRUPT, DISK_FAILED; QUEUE_CRASHED when the life is over */
  data(): Promise<MessageData>
  /** The same in pieces, for large ones: it fails (`error`) before its end when they do not verify.
   * @throws TypeError of a reference, which `data()` answers */
  stream(): Readable
}

export interface Transport {
  /** Attempts a delivery. A rejection counts as trouble of the site, unless it is a mistake in a program (a TypeError, a RangeError or a
   * ReferenceError without a cause), which is a `warning`; it is retried like any other.
   * @param signal aborts at the deadline, when the queue crashes, and when an operator deletes, expires, holds or reroutes the message (its
   * reason has the code ATTEMPT_WITHDRAWN): the transport then answers soon with what it knows, `deferred` for recipients whose mail has
   * not left. One that ignores it is left behind at the deadline.
   * One whose `length` is 1 (no other parameter, or only with a default) is given one that never aborts */
  deliver(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> | DeliveryResult
  /** An attempt that has been answered does nothing with its signal any more, nor listens to it: so one that was not aborted serves the next
   * attempt, too, which saves the making of one for each. Default: false. */
  readonly letsGoOfSignal?: boolean
  /** Drops connections; the queue has crashed. The next life in this process may come with the same transport. */
  close?(): void
}
