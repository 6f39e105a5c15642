/** The deferred recipients of a message, by destination. The retry policy decides for each
 * destination, so some may be given up while others of the message are tried again.
 * Invariant: giving a recipient up first appends a `failed` record; only then is the replacement
 * without it composed. So a crash between the two, or an untrusted replacement, finds it failed. */
import type { ActiveMessage } from '../../active/active-message.js'
import { forEachIn } from '../../base/ranges.js'
import { textOf } from '../../delivery/outcome.js'
import { condensed, noteTextCharsMax, type OutcomeNote } from '../../record/outcome-note.js'
import type { QueueEmitter } from '../life/events.js'
import type { Route } from '../life/options.js'
import { addressOf } from '../deliver/job.js'
import { appendOutcomes, notesOf, outcomeBytesMost } from '../deliver/outcome-notes.js'
import { recipientEventOf } from '../deliver/recipient-events.js'
import { OutcomeRoom } from '../deliver/outcome-room.js'
import type { Parts } from '../life/parts.js'
import { expiriesOf } from './report.js'
import { routeOf } from '../life/route.js'

/** The deferred recipients for one destination. */
export interface Deferred extends Route {
  /** By their indexes, ascending. */
  readonly addresses: Map<number, string>
}

/** @throws WaybillError LOG_CORRUPT, DISK_FAILED when the addresses cannot be read */
export async function deferredOf(
  { reader, options }: Pick<Parts, 'reader' | 'options'>,
  message: ActiveMessage,
): Promise<readonly Deferred[]> {
  const indexes = message.indexesIn('deferred')
  const { addresses } = await reader.addresseesAt(message, indexes)
  const byRoute = new Map<string, Deferred>()
  addresses.forEach((address, i) => {
    const { transport, nexthop } = routeNow(options, message, address)
    const key = JSON.stringify([transport, nexthop])
    const group = byRoute.get(key) ?? { transport, nexthop, addresses: new Map<number, string>() }
    byRoute.set(key, group)
    group.addresses.set(indexes[i]!, address)
  })
  return [...byRoute.values()]
}

function routeNow(options: Parts['options'], { envelope }: ActiveMessage, address: string): Route {
  try {
    return routeOf(options, envelope, address)
  } catch {
    // The recipient was deferred because it has no route: its outcome says so.
    return { transport: '', nexthop: '' }
  }
}

type GivingUp = Pick<Parts, 'journal' | 'outcomes' | 'options' | 'life' | 'events'>

/** Each of them fails, in one record and one step.
 * @returns false, and nothing is done, while there is no room for it */
export function giveUp(
  { journal, outcomes, options, life, events }: GivingUp,
  message: ActiveMessage,
  expired: readonly Deferred[],
): boolean {
  const notesOfEach = expired.map(({ addresses }) => expiryNotes(message, [...addresses.keys()]))
  const notes = condensed(notesOfEach.flat())
  const addresses = new Map(expired.flatMap((group) => [...group.addresses]))
  const outcomeRoom = new OutcomeRoom(journal, outcomes)
  const bytes = outcomeBytesMost(addresses.size) + outcomeRoom.bytesNow(addresses.size)
  if (journal.room(bytes, 'accepted mail') !== 'yes') return false
  life.guard(() => {
    const told = outcomeRoom.now({ message, addresses }, [...addresses.keys()], notes)
    appendOutcomes(journal, message, notes, false, options.clock.wallMs(), told)
    message.apply({ kind: 'delivery', notes })
    const nowMs = options.clock.wallMs()
    expired.forEach((group, i) => tell(events, message, group, notesOfEach[i]!, nowMs))
  })
  life.check()
  return true
}

function expiryNotes(message: ActiveMessage, indexes: readonly number[]): readonly OutcomeNote[] {
  const outcomes = expiriesOf(message, indexes).map(
    ({ status, text, remote }) =>
      ({
        kind: 'failed',
        status,
        reason: textOf(text, noteTextCharsMax - (remote?.length ?? 0)),
        remote,
      }) as const,
  )
  return notesOf(indexes, { outcomes }, false)
}

function tell(
  events: QueueEmitter,
  message: ActiveMessage,
  { transport, nexthop, addresses }: Deferred,
  notes: readonly OutcomeNote[],
  nowMs: number,
): void {
  if (events.listenerCount('failed') === 0) return
  for (const { status, text, ranges, remote } of notes) {
    const recipients: string[] = []
    forEachIn(ranges, (index) => recipients.push(addressOf({ message, addresses }, index)))
    events.emit('failed', {
      recipients,
      transport,
      nexthop,
      status,
      text,
      ...recipientEventOf(message, nowMs),
      ...(remote === undefined ? undefined : { remote }),
    })
  }
}
