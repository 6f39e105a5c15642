/** Who is in the queue: the active ones from memory, the waiting ones from their lanes, a few at a time.
 * It is the queue as of the call: what moves meanwhile is listed where it was. */
import type { MessageId } from '../base/message-id.js'
import { position, type Position } from '../base/position.js'
import type { ActiveMessage, EnvelopePlace } from '../active/active-message.js'
import { WaybillError } from '../errors.js'
import type { Lane, LaneKind } from '../lane/lane.js'
import { decodeEnvelope, type Envelope } from '../record/envelope.js'
import { classAt, kindAt, kinds, payloadAt, timeAt } from '../record/frame.js'
import type { OutcomeNote } from '../record/outcome-note.js'
import type { SegmentPins } from '../garbage/pins.js'
import { journalLog } from '../log/journal-writer.js'
import type { Engine } from './engine.js'
import { envelopesLog } from './holding.js'
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
/** How long a listing waits for the end of a recovery, and for a checkpoint. */
const waitMs = 2000

export async function* list(parts: Parts, engine: Engine, selector: Selector): AsyncGenerator<ListedMessage> {
  check(selector)
  // Until recovery has ended nobody knows what is active.
  await soonAtLeast(parts, engine.recovered)
  parts.life.check()
  const { lane: wanted } = selector
  const active = wanted === undefined || wanted === 'active' ? Array.from(parts.active.messages()) : []
  const lanes = Array.from(parts.lanes)
    .filter(({ number, kind }) => wanted === undefined || wanted === number || wanted === nameOf(kind))
    .map((lane) => ({ lane, from: lane.runner.position, end: lane.logs?.envelopes.end ?? parts.journal.end }))
  for (const stretch of lanes) eachSegment(parts, stretch, (pins, index) => pins.pin(index))
  try {
    for (const message of active) {
      const listed = await activeMessage(parts, message)
      if (matches(parts, listed, selector)) yield listed
    }
    // What was appended to a lane since the last checkpoint can be read after the next.
    await soonAtLeast(parts, engine.checkpointer.now())
    for (const stretch of lanes)
      for await (const listed of waiting(parts, stretch)) if (matches(parts, listed, selector)) yield listed
  } finally {
    for (const stretch of lanes) eachSegment(parts, stretch, (pins, index) => pins.release(index))
  }
}

/** What waited in a lane at the moment of the call. */
interface Stretch {
  readonly lane: Lane
  readonly from: Position
  readonly end: Position
}

/** The segments of a stretch stay until the listing ends, so that what is started meanwhile can still be read. */
function eachSegment(
  { journal, garbage }: Parts,
  { lane, from, end }: Stretch,
  visit: (pins: SegmentPins, index: number) => void,
): void {
  const { grid } = lane.logs?.envelopes.files ?? journal
  const pins = garbage.of(lane.logs === undefined ? journalLog : envelopesLog(lane.number))
  for (let index = grid.indexOf(from); index <= grid.indexOf(end); index++) visit(pins, index)
}

/** On a full disk it may never come: then what is known by now is listed. */
function soonAtLeast({ life, options }: Parts, event: Promise<void>): Promise<void> {
  life.run(event)
  return new Promise((resolve) => {
    const timer = options.clock.after(waitMs, resolve)
    const done = (): void => {
      timer.cancel()
      resolve()
    }
    event.then(done, done)
  })
}

const nameOf = (kind: LaneKind): string => (kind === 'retry' ? 'deferred' : kind)

async function* waiting(parts: Parts, { lane, from, end }: Stretch): AsyncGenerator<ListedMessage> {
  const log = lane.logs?.envelopes ?? parts.journal
  const trustedEnd = lane.logs === undefined ? parts.journal.durableEnd : lane.trustedEnd
  const last = position(Math.min(end, trustedEnd))
  for (let at = from; at < last;) {
    parts.life.check()
    const found: Found[] = []
    at = await log.read(at, last, (window, offset, place, bytes) => {
      if (kindAt(window, offset) !== kinds.envelope || classAt(window, offset) !== lane.number) return false
      const envelope = decodeEnvelope(payloadAt(window, offset))
      found.push({
        envelope,
        place: { lane: lane.number, position: place, bytes, outOfOrder: false },
        timeMs: timeAt(window, offset),
      })
      return found.length >= batchCountMax
    })
    for (const { envelope, place, timeMs } of found) {
      if (lane.marks.has(place.position)) continue
      yield {
        ...factsOf(envelope),
        recipients: await parts.reader.recipients({ envelope, place }, 0, recipientsListedMax),
        recipientCount: envelope.recipientCount,
        where: lane.kind,
        lane: lane.number,
        dueAt: lane.kind === 'incoming' ? 0 : timeMs + lane.intervalMs,
        notes: envelope.notes,
      }
    }
  }
}

interface Found {
  readonly envelope: Envelope
  readonly place: EnvelopePlace
  readonly timeMs: number
}

async function activeMessage(parts: Parts, message: ActiveMessage): Promise<ListedMessage> {
  const { envelope, place } = message
  const isWaiting = (index: number): boolean => ['pending', 'deferred'].includes(message.stateOf(index))
  return {
    ...factsOf(envelope),
    recipients: (await addressesOf(parts, message)).filter((_, index) => isWaiting(index)),
    recipientCount: message.pendingCount + message.deferredCount,
    where: 'active',
    lane: place.lane,
    dueAt: 0,
    notes: message.deferredCount > 0 ? message.notesOf('deferred') : envelope.notes,
  }
}

/** None when it has ended meanwhile, and its recipients' frames are gone. */
async function addressesOf({ reader, active }: Parts, message: ActiveMessage): Promise<string[]> {
  try {
    return await reader.recipients(message, 0, recipientsListedMax)
  } catch (error) {
    if (active.has(message)) throw error
    return []
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
