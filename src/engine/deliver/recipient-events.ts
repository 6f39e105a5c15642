/** Outcomes of recipients as events: one for all that share kind, status and text.
 * Invariant: addresses that were read for the scheduler are forgotten with their outcome, whether
 * anybody listens or not. */
import type { ActiveMessage } from '../../active/active-message.js'
import type { Outcome, OutcomeTls } from '../../delivery/transport.js'
import { isWaybillError } from '../../errors.js'
import type { OutcomeNote } from '../../record/outcome-note.js'
import { taggedBy, tagsOf } from '../../record/terms.js'
import type { QueueEmitter, RecipientEvent } from '../life/events.js'
import type { Entry } from '../../scheduler/scheduler.js'
import type { Parts } from '../life/parts.js'
import type { SiteTrouble } from '../../delivery/transport.js'
import { addressOf, type Job } from './job.js'

/** The origin of an outcome, for its event. */
export interface Origin {
  /** '' without an attempt, as is `nexthop`. */
  readonly transport: string
  readonly nexthop: string
  /** Outcomes of the attempt: they name the server and the session of a delivery, which notes do
   * not keep. */
  readonly outcomes?: readonly Outcome[]
}

/** The origin of an outcome without an attempt. */
export const nobodyAsked: Origin = { transport: '', nexthop: '' }

/** Emits `delivered`, `deferred` or `failed` for each note. */
export function tellOutcomes(
  events: QueueEmitter,
  job: Job,
  notes: readonly OutcomeNote[],
  { transport, nexthop, outcomes = [] }: Origin,
  nowMs: number,
): void {
  const { message, addresses, orcpts } = job
  for (const { kind, status, text, ranges, remote } of notes) {
    if (events.listenerCount(kind) === 0 && addresses === undefined) continue
    const named: string[] = []
    for (let i = 0; i < ranges.length; i += 2)
      for (let index = ranges[i]!; index <= ranges[i + 1]!; index++) {
        named.push(addressOf(job, index))
        addresses?.delete(index)
        orcpts?.delete(index)
      }
    const via = kind === 'delivered' ? sessionOf(outcomes) : remote === undefined ? undefined : { remote }
    // Members behind a copy cost a microsecond each on Node 20: copies stand last.
    events.emit(kind, {
      recipients: named,
      transport,
      nexthop,
      status,
      text,
      ...recipientEventOf(message, nowMs),
      ...via,
    })
  }
}

/** An error of the queue has its own code; anything else is a mistake in the transport's
 * program. */
export const tellDefect = (
  events: QueueEmitter,
  { envelope: { id } }: ActiveMessage,
  transport: string,
  defect: Error,
): void =>
  events.tellMistake({
    code: isWaybillError(defect) ? defect.code : 'TRANSPORT_DEFECT',
    message: `transport ${transport}: ${defect.message}`,
    id,
  })

/** What every event about recipients says of their message. */
export const recipientEventOf = (
  { envelope }: ActiveMessage,
  nowMs: number,
): Pick<RecipientEvent, 'id' | 'sender' | 'attempt' | 'delayMs' | 'dataBytes' | 'tags'> => ({
  id: envelope.id,
  sender: envelope.sender,
  attempt: envelope.attempts + 1,
  // A clock that was set back makes no negative delay.
  delayMs: Math.max(0, nowMs - envelope.acceptedAt),
  dataBytes: envelope.dataBytes,
  ...taggedBy(tagsOf(envelope)),
})

/** As outcomes say it. */
export const tlsText = ({ version, cipher, isVerified }: OutcomeTls): string =>
  `${version} ${cipher}${isVerified ? ' verified' : ''}`

/** One attempt delivers over one session. */
export function sessionOf(outcomes: readonly Outcome[]): Pick<RecipientEvent, 'remote' | 'tls'> {
  const delivered = outcomes.find(({ kind }) => kind === 'delivered')
  if (delivered?.kind !== 'delivered') return {}
  const { remote, tls } = delivered
  return {
    ...(remote === undefined ? undefined : { remote }),
    ...(tls === undefined ? undefined : { tls }),
  }
}

/** A destination has died. @param untilMs by the monotonic clock */
export function tellDeath(
  { events, options }: Pick<Parts, 'events' | 'options'>,
  { transport, nexthop, destinationName }: Entry<Job>,
  site: SiteTrouble | undefined,
  untilMs: number,
): void {
  const { clock } = options
  events.emit('dead', {
    transport,
    nexthop,
    name: destinationName,
    untilMs: Math.round(untilMs + clock.wallMs() - clock.monotonicMs()),
    status: site?.status ?? '',
    text: site?.reason ?? '',
  })
}
