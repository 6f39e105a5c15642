/** Who is in the queue: the active ones from memory, the waiting ones from their lanes, a few at a time.
 * A message that moves while the listing goes on may be seen in both places; none that stays is missed. */
import type { MessageId } from '../base/message-id.js'
import { position, type Position } from '../base/position.js'
import type { ActiveMessage, EnvelopePlace } from '../active/active-message.js'
import { WaybillError } from '../errors.js'
import type { Lane, LaneKind } from '../lane/lane.js'
import { decodeEnvelope, type Envelope } from '../record/envelope.js'
import { classAt, kindAt, kinds, payloadAt, timeAt } from '../record/frame.js'
import type { OutcomeNote } from '../record/outcome-note.js'
import type { Checkpointer } from './checkpointer.js'
import type { Parts } from './parts.js'

export interface Selector {
  readonly id?: string
  /** Exactly; '' is the null sender. */
  readonly sender?: string
  /** One of the message's recipients that still wait. */
  readonly recipient?: string
  /** The route of one of them, now. */
  readonly nexthop?: string
  /** `deferred` is every lane with an interval; a number is that lane. */
  readonly lane?: 'incoming' | 'active' | 'deferred' | 'hold' | number
  /** Accepted more than so many milliseconds ago. */
  readonly olderThan?: number
  /** The status of the last outcome of one of them begins with this: '4.4' or '4.4.1'. */
  readonly lastStatus?: string
}

export interface ListedMessage {
  readonly id: MessageId
  readonly sender: string
  /** Those that still wait; of a message with more than 1000 the first of them. */
  readonly recipients: readonly string[]
  readonly recipientCount: number
  readonly where: LaneKind | 'active'
  /** The number of the lane that it waits in or was started from. */
  readonly lane: number
  readonly acceptedAt: number
  readonly attempts: number
  readonly dataBytes: number
  /** When it is tried again, milliseconds since 1970; 0 for what is active or due at once, Infinity on hold. */
  readonly dueAt: number
  /** Why its recipients still wait. */
  readonly notes: readonly OutcomeNote[]
}

const recipientsListedMax = 1000
const batchCountMax = 256

export async function* list(
  parts: Parts,
  checkpointer: Checkpointer,
  selector: Selector,
): AsyncGenerator<ListedMessage> {
  check(selector)
  // What was appended to a lane since the last checkpoint can be read after the next.
  await checkpointer.now()
  const wanted = selector.lane
  if (wanted === undefined || wanted === 'active')
    for (const message of Array.from(parts.active.messages())) {
      const listed = await activeMessage(parts, message)
      if (matches(parts, listed, selector)) yield listed
    }
  for (const lane of Array.from(parts.lanes)) {
    if (wanted !== undefined && wanted !== lane.number && wanted !== nameOf(lane.kind)) continue
    for await (const listed of waiting(parts, lane)) if (matches(parts, listed, selector)) yield listed
  }
}

const nameOf = (kind: LaneKind): string => (kind === 'retry' ? 'deferred' : kind)

async function* waiting(parts: Parts, lane: Lane): AsyncGenerator<ListedMessage> {
  let from = lane.runner.position
  for (;;) {
    parts.life.check()
    const end = lane.logs === undefined ? parts.journal.durableEnd : lane.trustedEnd
    if (from >= end) return
    const found: { readonly envelope: Envelope; readonly place: EnvelopePlace; readonly timeMs: number }[] =
      []
    const log = lane.logs?.envelopes ?? parts.journal
    const start: Position = position(Math.max(from, lane.runner.position))
    const visit = (window: Buffer, at: number, place: Position, bytes: number): boolean => {
      if (kindAt(window, at) !== kinds.envelope || classAt(window, at) !== lane.number) return false
      found.push({
        envelope: decodeEnvelope(payloadAt(window, at)),
        place: { lane: lane.number, position: place, bytes, outOfOrder: false },
        timeMs: timeAt(window, at),
      })
      return found.length >= batchCountMax
    }
    try {
      from = await log.read(start, end, visit)
    } catch (error) {
      // A listing pins nothing: what the runner has passed meanwhile is gone, not damaged.
      if (lane.runner.position <= start) throw error
      continue
    }
    for (const { envelope, place, timeMs } of found) {
      if (place.position < lane.runner.position || lane.marks.has(place.position)) continue
      const recipients = await parts.reader.recipients({ envelope, place }, 0, recipientsListedMax)
      yield {
        ...factsOf(envelope),
        recipients,
        recipientCount: envelope.recipientCount,
        where: lane.kind,
        lane: lane.number,
        dueAt: lane.kind === 'incoming' ? 0 : timeMs + lane.intervalMs,
        notes: envelope.notes,
      }
    }
  }
}

async function activeMessage({ reader }: Parts, message: ActiveMessage): Promise<ListedMessage> {
  const { envelope, place } = message
  const addresses = await reader.recipients(message, 0, recipientsListedMax)
  const isWaiting = (index: number): boolean => ['pending', 'deferred'].includes(message.stateOf(index))
  return {
    ...factsOf(envelope),
    recipients: addresses.filter((_, index) => isWaiting(index)),
    recipientCount: message.pendingCount + message.deferredCount,
    where: 'active',
    lane: place.lane,
    dueAt: 0,
    notes: message.deferredCount > 0 ? message.notesOf('deferred') : envelope.notes,
  }
}

const factsOf = ({
  id,
  sender,
  acceptedAt,
  attempts,
  dataBytes,
}: Envelope): Pick<ListedMessage, 'id' | 'sender' | 'acceptedAt' | 'attempts' | 'dataBytes'> => ({
  id,
  sender,
  acceptedAt,
  attempts,
  dataBytes,
})

function check(selector: Selector): void {
  const known = ['id', 'sender', 'recipient', 'nexthop', 'lane', 'olderThan', 'lastStatus']
  for (const name of Object.keys(selector))
    if (!known.includes(name))
      throw new WaybillError('OPTION_INVALID', `a selector has ${known.join(', ')}`, {
        option: `selector.${name}`,
      })
}

function matches({ options }: Parts, message: ListedMessage, selector: Selector): boolean {
  const { id, sender, recipient, nexthop, olderThan, lastStatus } = selector
  if (id !== undefined && message.id !== id) return false
  if (sender !== undefined && message.sender !== sender) return false
  if (recipient !== undefined && !message.recipients.includes(recipient)) return false
  if (olderThan !== undefined && options.clock.wallMs() - message.acceptedAt <= olderThan) return false
  if (lastStatus !== undefined && !message.notes.some(({ status }) => status.startsWith(lastStatus)))
    return false
  return (
    nexthop === undefined || message.recipients.some((address) => routesTo(options.route, address, nexthop))
  )
}

function routesTo(route: Parts['options']['route'], address: string, nexthop: string): boolean {
  try {
    return route(address).nexthop === nexthop
  } catch {
    // An address without a route has no nexthop.
    return false
  }
}
