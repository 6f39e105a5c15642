/** The second half of a recovery, while new mail is accepted: messages that were being worked on.
 * They are what is left when the working suffix was read. Each gets a new start that carries
 * everything; one checkpoint later they are active again.
 * Invariant: nothing is appended that a crash in the middle of this would make wrong; a second
 * recovery reads the same suffix and what this one appended, and comes to the same state. */
import { nowhere, position, type Position } from '../../base/position.js'
import { ActiveMessage, type ActiveRecord } from '../../active/active-message.js'
import type { DamagedMessage } from '../../active/active-set.js'
import { isWaybillError, type WaybillError } from '../../errors.js'
import type { Checkpoint } from '../../record/checkpoint.js'
import { condensed } from '../../record/outcome-note.js'
import type { Carried } from '../../record/start.js'
import type { WorkingMessage } from '../../recovery/working-set.js'
import { appendCarrying, carryingOf } from '../checkpoint/carry.js'
import { pinDamaged, pinSegments } from '../checkpoint/pinning.js'
import type { Parts } from '../life/parts.js'
import type { RecoveredState } from './recovered-state.js'
import { isPassing } from './second-reading.js'

export interface Recovered {
  /** Active again, with the carrying starts appended. */
  readonly messages: readonly ActiveMessage[]
  /** Those of the damaged that the device may yet show. */
  readonly unread: readonly DamagedMessage[]
}

export interface RecoveryFacts {
  readonly checkpoint: Checkpoint
  /** Where the journal ended when this life began. */
  readonly tailEnd: Position
}

/** @throws WaybillError LOG_CORRUPT */
export async function recover(
  parts: Parts,
  { checkpoint, tailEnd }: RecoveryFacts,
  recoveredState: RecoveredState,
  roomChange: () => Promise<void>,
): Promise<Recovered> {
  await letGo(parts, tailEnd, recoveredState)
  restoreLanes(parts, checkpoint, recoveredState)
  const messages: ActiveMessage[] = []
  const damaged: { readonly working: WorkingMessage; readonly error: WaybillError }[] = []
  const unread: DamagedMessage[] = []
  for (const working of recoveredState.working.messages) {
    const revived = await revive(parts, working)
    if (revived instanceof ActiveMessage) messages.push(revived)
    else damaged.push({ working, error: revived })
  }
  for (const message of messages) {
    message.start = await carryOver(parts, carryingOf(message), roomChange)
    parts.active.add(message)
    pinSegments(parts, message)
  }
  for (const { working, error } of damaged) {
    const kept = { place: working.place, carried: carriedOf(working) }
    parts.active.addDamaged(await carryOver(parts, kept, roomChange), kept)
    pinDamaged(parts, working.place)
    if (isPassing(error)) unread.push(kept)
  }
  return { messages, unread }
}

/** What the last batch of the life before says to be over goes when there is one behind it, as in
 * that life (delayed-unlinks.ts):
 *    1. finish durable, killed
 *    2. restart unlinks its file, killed before its first batch is durable
 *    3. rot in that of the finish */
async function letGo(
  { journal, spool }: Parts,
  tailEnd: Position,
  { needlessSpools }: RecoveredState,
): Promise<void> {
  if (needlessSpools.size === 0) return
  await journal.whenDurable(position(tailEnd + 1))
  for (const number of needlessSpools) await spool.unlink(number)
}

/** Runners go on behind what was started, and skip what was started out of order. */
function restoreLanes({ lanes }: Parts, checkpoint: Checkpoint, { working, marks }: RecoveredState): void {
  for (const { lane: number } of checkpoint.lanes) {
    const lane = lanes.get(number)
    const trace = working.lanes.get(number)
    if (trace !== undefined) {
      lane.runner.readTo(trace.runner)
      lane.namedAt = position(Math.max(lane.namedAt, trace.namedAt))
    }
    const runner = lane.runner.position
    const recorded = marks.get(number)
    // Without them the lane stands still. A read for its runner meets the same error, and says so.
    if (recorded !== undefined) lane.marks.restoreAll(recorded)
    for (const marked of trace?.marks ?? []) if (marked >= runner) lane.marks.add(marked)
  }
}

/** @returns why its envelope cannot be read: the other messages go on */
async function revive(parts: Parts, working: WorkingMessage): Promise<ActiveMessage | WaybillError> {
  const { place, carried, records } = working
  try {
    const envelope = await parts.reader.envelope(place)
    const message = new ActiveMessage(envelope, place, working.start, carried)
    parts.active.keepRecipients(message)
    for (const record of records) message.apply(record)
    message.recoveries = recoveriesOf(message.recoveries, records, parts.options.deliver)
    return message
  } catch (error) {
    if (parts.life.isOver || !isWaybillError(error)) throw error
    parts.events.emit('warning', { code: error.code, message: `a message cannot be read: ${error.message}` })
    return error
  }
}

/** What is known of a message without its envelope. */
function carriedOf({ start, carried, records }: WorkingMessage): Carried {
  let known: Carried = carried ?? nothingKnown
  for (const record of records)
    switch (record.kind) {
      case 'delivery':
        known = { ...known, notes: condensed([...known.notes, ...record.notes]) }
        break
      case 'reported':
        known = { ...known, reported: [...known.reported, ...record.reported], warnings: record.warnings }
        break
      case 'replacement':
        known = { ...known, replacement: { lane: record.lane, timeMs: record.timeMs } }
        break
    }
  return { ...known, start }
}

const nothingKnown: Carried = {
  start: nowhere,
  notes: [],
  reported: [],
  warnings: 0,
  recoveries: 0,
  replacement: undefined,
}

/** Counts the recoveries in a row that found a message attempted and without progress. At the first
 * it is not known whether it was attempted; a life that delivers nothing does not count. */
function recoveriesOf(before: number, records: readonly ActiveRecord[], delivers: boolean): number {
  const progressed = records.some((record) => record.kind !== 'delivery' || record.notes.length > 0)
  const attempted = records.length > 0 || before === 0
  return (progressed ? 0 : before) + (attempted && delivers ? 1 : 0)
}

/** Appends the start that takes the place of the message's, in this life's own segments. */
async function carryOver(
  parts: Parts,
  message: DamagedMessage,
  roomChange: () => Promise<void>,
): Promise<Position> {
  for (;;) {
    const start = appendCarrying(parts, message, 'recovery')
    if (start !== undefined) return start
    await roomChange()
  }
}
