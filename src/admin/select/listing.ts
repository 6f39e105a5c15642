/** Lists messages: active ones from memory, waiting ones from their lanes, a few at a time.
 * It shows the queue at the time of the call: a message that moves meanwhile is listed at
 * its old place. */
import { checkOptionNames, signalOption } from '../../base/options.js'
import type { ActiveMessage } from '../../active/active-message.js'
import { WaybillError } from '../../errors.js'
import { holdLane, type Lane } from '../../lane/lane.js'
import { requestOfEach } from '../../record/dsn.js'
import { namesRecipients } from '../../record/envelope.js'
import type { OutcomeNote } from '../../record/outcome-note.js'
import type { Engine } from '../../engine/engine.js'
import type { Parts } from '../../engine/life/parts.js'
import { pinForReading } from '../../engine/checkpoint/pinning.js'
import { dueOf, factsOf, type ListedMessage } from './listed-message.js'
import { routesNow } from './routes.js'
import {
  AddressMatch,
  checkSelector,
  firstTest,
  needsAddresses,
  selectsActive,
  selectsEnvelope,
  selectsHeld,
  selectsLane,
  selectsUnread,
  type Selector,
} from './selector.js'
import { Stretch, type WaitingMessage } from '../../engine/start/waiting-messages.js'
import { checkAllRead, WalkDamage } from './walk-damage.js'

export type { ListedMessage }

/** A selected message and its place. */
export type Selected =
  | { readonly kind: 'active'; readonly message: ActiveMessage }
  | { readonly kind: 'waiting'; readonly lane: Lane; readonly message: WaitingMessage }

/** Is it on hold, or to be put there: again, because recovery did not trust its move, or when it is
 * reached, because it was submitted so?
 *    1. `submit({ hold: true })` settles
 *    2. the message is released before it has come to its lane, and none is found there
 *    3. it comes there, and waits for ever */
export const isOnHold = (found: Selected): boolean =>
  found.message.envelope.held ||
  (found.kind === 'waiting' ? found.lane.kind === 'hold' : found.message.replacement?.lane === holdLane)

export interface Walk {
  /** Waits for a checkpoint: later appends to a lane can be read only after the next one. */
  readonly trust: () => Promise<void>
  /** Lanes that are looked at. */
  readonly isAsked?: ((lane: Lane) => boolean) | undefined
  /** Stops between reads. */
  readonly signal?: AbortSignal | undefined
  /** Where the caller notes its own unreadable places; they are reported with the rest. */
  readonly damage?: WalkDamage
}

export interface ListOptions {
  /** Stops the listing with VERB_ABORTED, also while nothing matches. */
  readonly signal?: AbortSignal | undefined
  /** Gives each message `routed`, by asking the queue's `route` for each recipient. Default:
   * false. */
  readonly routes?: boolean | undefined
}

const recipientsReadMax = 1000
/** How long a listing waits for a checkpoint. On a full disk it may never come; then the known part
 * is listed, and LIST_INCOMPLETE is thrown. */
const waitMs = 10_000

/** @throws WaybillError OPTION_INVALID, VERB_ABORTED, QUEUE_CRASHED, DISK_FULL while a recovery
 * waits for room; LOG_CORRUPT, DISK_FAILED and LIST_INCOMPLETE when all readable messages have been
 * listed */
export async function* list(
  parts: Parts,
  engine: Engine,
  selector: Selector,
  options: ListOptions,
): AsyncGenerator<ListedMessage> {
  checkOptionNames(options, { signal: true, routes: true })
  signalOption(options.signal)
  const { signal, routes } = options
  // Until recovery has ended the active messages are unknown.
  await parts.life.orEnd(engine.whenRecovered())
  const trust = (): Promise<void> => soonAtLeast(parts, engine.checkpointer.now())
  const damage = new WalkDamage(parts.life)
  for await (const batch of selected(parts, selector, { trust, signal, damage }))
    for (const found of batch) {
      const { id } = found.message.envelope
      const listed = await damage.of(id, listedMessage(parts, found, routes))
      if (listed !== undefined) yield listed
    }
  damage.tell()
  if (selectsUnread(selector)) checkAllRead(parts)
}

/** Those that match, as of now, a few at a time: active ones first, then lane by lane in the order
 * in which they are due.
 * @throws WaybillError as `list`; LOG_CORRUPT and DISK_FAILED after all readable messages */
export async function* selected(
  parts: Parts,
  selector: Selector,
  { trust, isAsked = () => true, signal, damage = new WalkDamage(parts.life) }: Walk,
): AsyncGenerator<readonly Selected[]> {
  checkSelector(selector)
  parts.life.check()
  checkAborted(signal)
  const active = selectsActive(selector)
    ? Array.from(parts.active.messages())
    : selectsHeld(selector)
      ? Array.from(parts.active.messages()).filter(({ envelope }) => envelope.held)
      : []
  //    1. recipients of other messages are read first
  //    2. the message is deferred, and its segment is recycled
  //    3. it waits in a lane, and can no longer be matched
  const read = active.filter(({ envelope }) => !namesRecipients(envelope))
  const unpins = read.map((message) => pinForReading(parts, message))
  const stretches = Array.from(parts.lanes)
    .filter((lane) => !lane.isRetired && isAsked(lane))
    .filter((lane) => selectsLane(selector, lane) || (selectsHeld(selector) && lane.kind === 'incoming'))
    .map((lane) => new Stretch(parts, lane))
  try {
    const now: Selected[] = []
    for (const message of active)
      if (await damage.of(message.envelope.id, matchesActive(parts, message, selector)))
        now.push({ kind: 'active', message })
    // Together, because they move on: at most twice as many as may be active.
    if (now.length > 0) yield now
    // An id is given once.
    if (now.length > 0 && selector.id !== undefined) return
    const walk = { parts, selector, trust, signal, damage }
    for (const stretch of stretches)
      try {
        for await (const found of inStretch(stretch, walk)) {
          yield found
          if (selector.id !== undefined) return
        }
      } catch (error) {
        // The other lanes go on.
        damage.meet(error)
      }
    damage.tell()
  } finally {
    for (const stretch of stretches) stretch.end()
    for (const unpin of unpins) unpin()
  }
}

interface LaneWalk extends Pick<Walk, 'trust' | 'signal'> {
  readonly parts: Parts
  readonly selector: Selector
  readonly damage: WalkDamage
}

/** Those of one lane that match, from its log. */
async function* inStretch(
  stretch: Stretch,
  { parts, selector, trust, signal, damage }: LaneWalk,
): AsyncGenerator<readonly Selected[]> {
  const { lane } = stretch
  const mayMatch = firstTest(selector, parts.options.clock.wallMs())
  for await (const batch of stretch.batches(trust, mayMatch)) {
    checkAborted(signal)
    const found: Selected[] = []
    for (const message of batch) {
      if (selectsHeld(selector) && lane.kind === 'incoming' && !message.envelope.held) continue
      const match = matchesWaiting(parts, message, selector)
      if (typeof match === 'boolean' ? match : await damage.of(message.envelope.id, match))
        found.push({ kind: 'waiting', lane, message })
    }
    if (found.length > 0) yield found
  }
}

/** @throws WaybillError VERB_ABORTED */
export function checkAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw verbAborted(signal)
}

export const verbAborted = ({ reason }: AbortSignal): WaybillError =>
  new WaybillError('VERB_ABORTED', 'the verb was aborted', {}, reason)

export function soonAtLeast({ life, options }: Parts, event: Promise<void>): Promise<void> {
  life.run(event)
  // Neither settles in a life that ends while its disk does not answer.
  return life.orEnd(
    new Promise((resolve) => {
      const timer = options.clock.after(waitMs, resolve)
      const done = (): void => {
        timer.cancel()
        resolve()
      }
      event.then(done, done)
    }),
  )
}

const notesOf = (message: ActiveMessage): readonly OutcomeNote[] =>
  message.deferredCount > 0 ? message.notesOf('deferred') : message.envelope.notes

export async function matchesActive(
  parts: Parts,
  message: ActiveMessage,
  selector: Selector,
): Promise<boolean> {
  const { envelope } = message
  const { options } = parts
  if (!selectsEnvelope(selector, { envelope, notes: notesOf(message) }, options.clock.wallMs())) return false
  if (!needsAddresses(selector)) return true
  const match = new AddressMatch(selector, options, envelope)
  for (let from = 0; from < envelope.recipientCount; from += recipientsReadMax)
    if (match.add(await waitingAddresses(parts, message, from))) return true
  return false
}

/** A promise only where something has to be read: one for each of ten million messages would take
 * seconds. */
export function matchesWaiting(
  parts: Parts,
  message: WaitingMessage,
  selector: Selector,
): boolean | Promise<boolean> {
  const { options } = parts
  const { envelope } = message
  if (!selectsEnvelope(selector, { envelope, notes: envelope.notes }, options.clock.wallMs())) return false
  if (!needsAddresses(selector)) return true
  const match = new AddressMatch(selector, options, envelope)
  if (envelope.recipientFrames.length === 0) return match.add(envelope.recipients)
  return matchesRead(parts, message, match)
}

async function matchesRead(
  { reader, life }: Parts,
  message: WaitingMessage,
  match: AddressMatch,
): Promise<boolean> {
  for (let from = 0; from < message.envelope.recipientCount; from += recipientsReadMax)
    if (match.add(await life.orEnd(reader.recipients(message, from, recipientsReadMax)))) return true
  return false
}

/** @param routes whether the recipients' routes are asked for */
export const listedMessage = (parts: Parts, found: Selected, routes = false): Promise<ListedMessage> =>
  found.kind === 'active' ? activeMessage(parts, found.message, routes) : waitingMessage(parts, found, routes)

async function waitingMessage(
  parts: Parts,
  { lane, message }: Extract<Selected, { kind: 'waiting' }>,
  routes: boolean,
): Promise<ListedMessage> {
  const { envelope, timeMs } = message
  return {
    ...factsOf(envelope),
    ...(await firstRecipients(parts, message, { waitsAt: () => true, routes })),
    recipientCount: envelope.recipientCount,
    where: lane.kind,
    lane: lane.number,
    dueAt: dueOf(envelope, lane.kind === 'incoming' ? 0 : timeMs + lane.intervalMs),
    notes: envelope.notes,
  }
}

async function activeMessage(parts: Parts, message: ActiveMessage, routes: boolean): Promise<ListedMessage> {
  return {
    ...factsOf(message.envelope),
    ...(await firstRecipients(parts, message, { waitsAt: (index) => isWaiting(message, index), routes })),
    recipientCount: message.pendingCount + message.deferredCount,
    where: 'active',
    lane: message.place.lane,
    dueAt: dueOf(message.envelope, 0),
    notes: notesOf(message),
  }
}

/** The recipients from `from` on that still wait, or did when it ended. */
async function waitingAddresses(
  { reader, life }: Parts,
  message: ActiveMessage,
  from: number,
): Promise<string[]> {
  const addresses = await life.orEnd(reader.recipients(message, from, recipientsReadMax))
  return addresses.filter((_, i) => isWaiting(message, from + i))
}

const isWaiting = (message: ActiveMessage, index: number): boolean =>
  ['pending', 'deferred'].includes(message.stateOf(index))

interface Asked {
  readonly waitsAt: (index: number) => boolean
  readonly routes: boolean
}

/** The first waiting recipients, with their requests and routes. */
async function firstRecipients(
  { reader, life, options }: Parts,
  message: ActiveMessage | WaitingMessage,
  { waitsAt, routes }: Asked,
): Promise<Pick<ListedMessage, 'recipients' | 'dsn' | 'routed'>> {
  const { envelope } = message
  const { addresses, orcpts } = await life.orEnd(reader.addressees(message, 0, recipientsReadMax))
  // As of now, and one answer for all.
  const indexes = Array.from(addresses.keys()).filter(waitsAt)
  const recipients = indexes.map((index) => addresses[index]!)
  const now = routes ? routesNow(options, envelope, recipients) : []
  const routed = routes ? { routed: indexes.map((index, i) => ({ index, route: now[i] })) } : undefined
  if (envelope.dsn === undefined) return { recipients, ...routed }
  const each = requestOfEach(envelope.dsn, orcpts)
  const asked = indexes.map((index) => each[index]!)
  const { ret, envid } = envelope.dsn
  return { recipients, dsn: { ret, envid: envid || undefined, recipients: asked }, ...routed }
}
