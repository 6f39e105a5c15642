/** The request that a transport gets. A class without closures, because one is made for
 * every attempt. */
import { Readable } from 'node:stream'
import type { AttemptTrace } from '../life/tracing.js'
import type { ActiveMessage } from '../../active/active-message.js'
import { notifyOf } from '../../base/notification.js'
import type { DeliveryRequest, MessageData, RequestDsn } from '../../delivery/transport.js'
import type { EnvelopeDsn } from '../../record/dsn.js'
import type { TraceContext } from '../../record/terms.js'
import type { Entry } from '../../scheduler/scheduler.js'
import type { Job } from './job.js'
import type { MessageReader } from '../message/message-reader.js'

class Request implements DeliveryRequest {
  readonly recipients: readonly string[]
  readonly nexthop: string
  readonly dsn: RequestDsn | undefined
  readonly #message: ActiveMessage
  readonly #reader: MessageReader

  constructor(
    message: ActiveMessage,
    recipients: readonly string[],
    nexthop: string,
    dsn: RequestDsn | undefined,
    reader: MessageReader,
  ) {
    this.#message = message
    this.recipients = recipients
    this.nexthop = nexthop
    this.dsn = dsn
    this.#reader = reader
  }

  get id(): string {
    return this.#message.envelope.id
  }

  get attempts(): number {
    return this.#message.envelope.attempts
  }

  get sender(): string {
    return this.#message.envelope.sender
  }

  get acceptedAt(): number {
    return this.#message.envelope.acceptedAt
  }

  get dataBytes(): number {
    return this.#message.envelope.dataBytes
  }

  get smtputf8(): boolean {
    return this.#message.envelope.smtputf8
  }

  get traceparent(): string | undefined {
    return this.#message.envelope.terms?.trace?.traceparent
  }

  get tracestate(): string | undefined {
    return this.#message.envelope.terms?.trace?.tracestate || undefined
  }

  data(): Promise<MessageData> {
    return this.#reader.data(this.#message)
  }

  stream(): Readable {
    return Readable.from(this.#reader.pieces(this.#message), { objectMode: false })
  }
}

export function requestOf(
  { message: { message, addresses, orcpts }, recipients: indexes, nexthop }: Entry<Job>,
  reader: MessageReader,
): Request {
  const { recipients, dsn } = message.envelope
  // In the order of the entry, which is not that of the envelope: outcomes come back in this order.
  // A separate list: a transport's changes must not reach the envelope, which is written again when
  // the message is deferred.
  const named =
    recipients.length === 1
      ? [recipients[0]!]
      : indexes.map((index) => addresses?.get(index) ?? recipients[index]!)
  const asked = dsn && requestDsn(message, dsn, indexes, orcpts)
  return new Request(message, named, nexthop, asked, reader)
}

/** For a tool that traces attempts. */
export const traceOf = ({
  message: { message },
  recipients,
  transport,
  nexthop,
}: Entry<Job>): AttemptTrace => ({
  id: message.envelope.id,
  sender: message.envelope.sender,
  transport,
  nexthop,
  recipientCount: recipients.length,
  attempts: message.envelope.attempts,
  ...tracedBy(message.envelope.terms?.trace),
})

const tracedBy = (
  trace: TraceContext | undefined,
): Pick<AttemptTrace, 'traceparent' | 'tracestate'> | undefined =>
  trace && {
    traceparent: trace.traceparent,
    ...(trace.tracestate === '' ? undefined : { tracestate: trace.tracestate }),
  }

/** What was asked for some recipients. @param orcpts by index, when the envelope does not have
 * them */
function requestDsn(
  message: ActiveMessage,
  dsn: EnvelopeDsn,
  indexes: readonly number[],
  orcpts: ReadonlyMap<number, string> | undefined,
): RequestDsn {
  const recipients = indexes.map((index) => {
    const orcpt = orcpts?.get(index) ?? dsn.orcpts[index] ?? ''
    return { notify: notifyOf(message.askedOf(index)), orcpt: orcpt === '' ? undefined : orcpt }
  })
  return { ret: dsn.ret, envid: dsn.envid === '' ? undefined : dsn.envid, recipients }
}
