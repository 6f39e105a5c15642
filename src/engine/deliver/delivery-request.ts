/** The request that a transport gets.
 * Invariant: every member is an own property, so that a transport's copy, `{ ...request }`, has all
 * of them. */
import { Readable } from 'node:stream'
import type { AttemptTrace } from '../life/tracing.js'
import type { ActiveMessage } from '../../active/active-message.js'
import { notifyOf } from '../../base/notification.js'
import type { DeliveryRequest, RequestDsn } from '../../delivery/transport.js'
import type { EnvelopeDsn } from '../../record/dsn.js'
import type { TraceContext } from '../../record/terms.js'
import type { Entry } from '../../scheduler/scheduler.js'
import { addressOf, type Job } from './job.js'
import type { MessageReader } from '../message/message-reader.js'

/** The request of an entry. Its recipients stand in the order of the entry. */
export function requestOf(
  { message: job, recipients: indexes, nexthop }: Entry<Job>,
  reader: MessageReader,
): DeliveryRequest {
  const { message, orcpts } = job
  const { envelope } = message
  const { recipients, dsn, terms } = envelope
  // In the order of the entry, which is not that of the envelope: outcomes come back in this order.
  // A separate list: a transport's changes must not reach the envelope, which is written again when
  // the message is deferred.
  const named = recipients.length === 1 ? [recipients[0]!] : indexes.map((index) => addressOf(job, index))
  const asked = dsn && requestDsn(message, dsn, indexes, orcpts)
  return {
    id: envelope.id,
    attempts: envelope.attempts,
    sender: envelope.sender,
    recipients: named,
    nexthop,
    acceptedAt: envelope.acceptedAt,
    dataBytes: envelope.dataBytes,
    smtputf8: envelope.smtputf8,
    dsn: asked,
    traceparent: terms?.trace?.traceparent,
    tracestate: terms?.trace?.tracestate || undefined,
    data: () => reader.data(message),
    stream: () => Readable.from(reader.pieces(message), { objectMode: false }),
  }
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
