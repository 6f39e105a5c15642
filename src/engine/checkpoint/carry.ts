/** Renews starts: a new one carries everything known, so that recovery need not read further back.
 * A recovery does it at its end for all that it found; later it is done for each message that stays
 * active for too long. */
import type { ActiveMessage } from '../../active/active-message.js'
import type { DamagedMessage } from '../../active/active-set.js'
import { nowhere, type Position } from '../../base/position.js'
import type { AppendPurpose } from '../../log/append-purpose.js'
import { frameBytes, kinds } from '../../record/frame.js'
import { encodeStart } from '../../record/start.js'
import { marksBytesInJournal } from './capture.js'
import type { Parts } from '../life/parts.js'

type Carrying = Pick<Parts, 'journal' | 'lanes' | 'options'>

/** Appends the new start, if there is room for it and for `followingBytes`. The start names the
 * lane that the message is from:
 *    1. carried
 *    2. the lane, which no policy names, leaves the table
 *    3. restart: the start names a lane that is not there, for ever
 * @returns the position of the start; undefined without room */
export function appendCarrying(
  { journal, lanes, options }: Carrying,
  message: DamagedMessage,
  purpose: AppendPurpose,
  followingBytes: number = 0,
): Position | undefined {
  const payload = encodeCarrying(message)
  const { place } = message
  const bytes = frameBytes(payload.length)
  if (journal.room(bytes + followingBytes, purpose) !== 'yes') return undefined
  journal.open(bytes)
  const start = journal.append(kinds.start, place.lane, options.clock.wallMs(), payload)
  lanes.get(place.lane).namedAt = start
  return start
}

/** The payload of a start that carries what is known of a message. */
export const encodeCarrying = ({ place, carried }: DamagedMessage): Buffer =>
  encodeStart({
    envelope: place.position,
    envelopeBytes: place.bytes,
    outOfOrder: place.outOfOrder,
    carried,
  })

/** The parts of a message that its new start carries. */
export const carryingOf = (message: ActiveMessage): DamagedMessage => ({
  place: message.place,
  carried: message.carried(),
})

/** The same with the count of a recovery: this life is one more that attempted the message without
 * progress. */
export function carryingNow(message: ActiveMessage): DamagedMessage {
  const { place, carried } = carryingOf(message)
  const { recoveries, attemptNote } = message
  const isCounted = recoveries > 0 && attemptNote !== nowhere
  return { place, carried: { ...carried, recoveries: isCounted ? recoveries + 1 : recoveries } }
}

/** Gives each message that was started before `bound`, a position, a new start. It stops where only
 * the room is left that the marks of the capture need. */
export function carryOld(parts: Parts, bound: number): void {
  const { active } = parts
  const marksBytes = marksBytesInJournal(parts)
  for (const message of active.messages()) {
    if (message.start >= bound) break
    const start = appendCarrying(parts, carryingNow(message), 'accepted mail', marksBytes)
    if (start === undefined) return
    active.restart(message, start)
  }
  for (const [old, message] of active.damaged()) {
    if (old >= bound) break
    const start = appendCarrying(
      parts,
      { ...message, carried: { ...message.carried, start: old } },
      'accepted mail',
      marksBytes,
    )
    if (start === undefined) return
    active.removeDamaged(old)
    active.addDamaged(start, message)
  }
}
