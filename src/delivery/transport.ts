/** The contract of transports: requests and answers.
 * Invariant: nothing about delivery is stored in the queue; transports and routes are asked again
 * at every attempt. */
import type { Readable } from 'node:stream'
import type { RecipientDsn, Relayed, Ret } from '../base/notification.js'

/** The TLS of the session over which an outcome came. */
export interface OutcomeTls {
  /** `TLSv1.3` */
  readonly version: string
  readonly cipher: string
  /** The certificate was verified for the intended server. */
  readonly isVerified: boolean
}

/** What became of one recipient. `response` and `reason` are kept, cut to 500 characters; `status`
 * is an RFC 3463 code.
 * `remote` is the server that replied, printable ASCII of at most 255 characters such as
 * `mx.example.net[192.0.2.1]:25`. It is set only if `response` or `reason` ends with its reply.
 * Log, listings and reports name it. */
export type Outcome =
  | {
      readonly kind: 'delivered'
      readonly remote?: string | undefined
      /** undefined: the session was not encrypted, or there was none. */
      readonly tls?: OutcomeTls | undefined
      readonly response?: string | undefined
      /** It was relayed: `with-dsn` to a server that got `request.dsn` and reports success itself,
       * `without-dsn` to one that does not know DSN. Undefined: it was delivered to a mailbox.
       * Decides the report if the sender asked for successes. */
      readonly relayed?: Relayed | undefined
    }
  | {
      readonly kind: 'deferred' | 'failed'
      readonly status: string
      readonly reason: string
      readonly remote?: string | undefined
    }

/** The destination itself is in trouble (no connection, no banner, it closed on us): not the fault
 * of this message. */
export interface SiteTrouble {
  readonly kind: 'site'
  readonly status: string
  readonly reason: string
  /** The server that replied, as in an outcome. */
  readonly remote?: string | undefined
}

/** One outcome for every recipient of the request, in its order; or one for all of them. */
export type DeliveryResult = Outcome | SiteTrouble | readonly Outcome[]

export type MessageData = Buffer | { readonly ref: string }

/** The sender's requests (RFC 3461), for transports that pass them on. */
export interface RequestDsn {
  readonly ret: Ret | undefined
  readonly envid: string | undefined
  /** The requests for each recipient, in the order of `recipients`. */
  readonly recipients: readonly RecipientDsn[]
}

export interface DeliveryRequest {
  /** The message's id, the same at every attempt: for idempotence on the other side. */
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
  /** The sender's requests; undefined where there are none, as with most mail. */
  readonly dsn?: RequestDsn | undefined
  /** The trace of the submission, for headers of the same names. @see W3C Trace Context */
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
  /** The whole message, verified against its checksum.
   * @throws WaybillError DATA_CORRUPT, LOG_CORRUPT, DISK_FAILED; QUEUE_CRASHED when
   * the life is over */
  data(): Promise<MessageData>
  /** The message in pieces, for large ones. If the data does not verify, the stream fails (`error`)
   * before its end.
   * @throws TypeError for a reference; use `data()` */
  stream(): Readable
}

export interface Transport {
  /** Attempts a delivery. A rejection counts as trouble of the site. A TypeError, RangeError or
   * ReferenceError without a cause is a bug: it emits `warning`, and is retried like any other.
   * @param signal aborts at the deadline, when the queue crashes, and when an operator deletes,
   * expires, holds or reroutes the message (its reason has the code ATTEMPT_WITHDRAWN). The
   * transport then answers soon, with `deferred` for recipients whose mail has not left. A
   * transport that ignores it is abandoned at the deadline. A `deliver` with `length` 1 gets a
   * signal that never aborts */
  deliver(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> | DeliveryResult
  /** The transport does nothing with a signal after its answer, nor listens to it. Then a signal
   * that was not aborted serves the next attempt, too, which saves making one for each.
   * Default: false. */
  readonly releasesSignal?: boolean
  /** Addresses of this machine that mail may leave from, for limits by source. Asked at every
   * delivery. Default: none. */
  readonly sources?: readonly string[] | undefined
  /** Closes connections: the queue has crashed. The next life in this process may use the
   * same transport. */
  close?(): void
}
