/** The second half of a recovery, while new mail is accepted: the working suffix is read, what is left in it was being worked
 * on, and each such message gets a new start that carries everything. One checkpoint later they are active again.
 * Invariant: nothing is appended that a crash in the middle of this would make wrong; a second recovery reads the same suffix
 * and what this one appended, and comes to the same state. */
import { nowhere, position, type Position } from '../base/position.js'
import { ActiveMessage } from '../active/active-message.js'
import type { Checkpoint } from '../record/checkpoint.js'
import { frameBytes, kinds } from '../record/frame.js'
import { encodeStart } from '../record/start.js'
import { readMarks } from '../recovery/read-marks.js'
import { readSuffix, type Suffix } from '../recovery/read-suffix.js'
import type { WorkingMessage, WorkingSet } from '../recovery/working-set.js'
import { hold } from './holding.js'
import type { Parts } from './parts.js'

/** @param tailEnd where the journal ended when this life began, @param spools the files that existed then
 * @returns the messages that are active again, with the carrying starts appended
 * @throws WaybillError LOG_CORRUPT */
export async function recover(
  parts: Parts,
  checkpoint: Checkpoint,
  tailEnd: Position,
  spools: readonly number[],
  roomChange: () => Promise<void>,
): Promise<readonly ActiveMessage[]> {
  const { journal, options } = parts
  const unclear = spools.filter(
    (number) => number > checkpoint.spoolHighest || checkpoint.spoolPending.includes(number),
  )
  const facts = {
    suffix: checkpoint.suffix,
    trustedEnd: (lane: number): Position | undefined =>
      checkpoint.lanes.find((positions) => positions.lane === lane && !positions.inJournal)?.envelopesEnd,
  }
  const inJournal = checkpoint.lanes.some((lane) => lane.inJournal && lane.lane !== 0)
  const suffix = await readSuffix(
    journal,
    facts,
    tailEnd,
    inJournal || unclear.length > 0 || options.layout === 'single',
  )
  await removeSpools(parts, suffix, spools, unclear)
  await restoreLanes(parts, checkpoint, suffix.working)
  const messages: ActiveMessage[] = []
  for (const working of suffix.working.messages) messages.push(await revive(parts, working))
  for (const message of messages) await restart(parts, message, roomChange)
  return messages
}

/** Orphans of the crash, and files whose message is known to be finished. */
async function removeSpools(
  { spool }: Parts,
  { working, spoolsNamed }: Suffix,
  existing: readonly number[],
  unclear: readonly number[],
): Promise<void> {
  const finished = working.finishedSpools.filter((number) => existing.includes(number))
  const orphans = unclear.filter((number) => !spoolsNamed.has(number))
  for (const number of new Set([...finished, ...orphans])) await spool.unlink(number)
}

/** Runners go on behind what was started, and skip what was started out of order. */
async function restoreLanes(
  { journal, lanes }: Parts,
  checkpoint: Checkpoint,
  working: WorkingSet,
): Promise<void> {
  for (const { lane: number, marks } of checkpoint.lanes) {
    const lane = lanes.get(number)
    const trace = working.lanes.get(number)
    if (trace !== undefined) {
      lane.runner.readTo(trace.runner)
      lane.namedAt = position(Math.max(lane.namedAt, trace.namedAt))
    }
    const runner = lane.runner.position
    const log = lane.logs?.envelopes.files ?? journal.files
    if (marks !== nowhere)
      for (const marked of await readMarks(log, marks, runner)) lane.marks.restore(marked)
    for (const marked of trace?.marks ?? []) if (marked >= runner) lane.marks.add(marked)
  }
}

async function revive(parts: Parts, working: WorkingMessage): Promise<ActiveMessage> {
  const { place, carried, records } = working
  const envelope = await parts.reader.envelope(place)
  const message = new ActiveMessage(envelope, place, working.start, carried)
  for (const record of records) message.apply(record)
  // A life that delivers nothing gives it no chance, and does not count.
  message.recoveries = (records.length > 0 ? 0 : message.recoveries) + (parts.options.deliver ? 1 : 0)
  return message
}

/** The record that takes the place of the message's start, in this life's own segments. */
async function restart(parts: Parts, message: ActiveMessage, roomChange: () => Promise<void>): Promise<void> {
  const { journal, active, options } = parts
  const { place } = message
  const payload = encodeStart({
    envelope: place.position,
    envelopeBytes: place.bytes,
    outOfOrder: place.outOfOrder,
    carried: message.carried(),
  })
  const bytes = frameBytes(payload.length)
  while (journal.room(bytes, 'recovery') !== 'yes') await roomChange()
  journal.open(bytes)
  message.start = journal.append(kinds.start, place.lane, options.clock.wallMs(), payload)
  active.add(message)
  hold(parts, message)
}
