/** Compacts `hold` when most of its bytes are marked: waiting messages are appended again at its
 * end.
 * Then the segments before them, and those of their data, are garbage.
 * Invariant: each message moves as by a verb: one checkpoint marks its old place and makes its new
 * one trusted, so it is always on hold exactly once. One compaction runs at a time. */
import { position } from '../../base/position.js'
import type { OpenedEngine } from '../../engine/open.js'
import type { Order } from '../../engine/settle/orders.js'
import type { Parts } from '../../engine/life/parts.js'
import { Stretch, trustedEndOf } from '../../engine/start/waiting-messages.js'
import { isWaybillError } from '../../errors.js'
import type { Lane } from '../../lane/lane.js'
import { bytesBeside, decodeEnvelope } from '../../record/envelope.js'
import { classAt, frameBytes, kindAt, kinds, payloadAt } from '../../record/frame.js'
import { goThrough } from './pass.js'
import { Tally } from './tally.js'

/** Less than so many segments, envelopes and data together, are left alone. */
const segmentsMin = 2
/** Usual bytes of a message beside its data: a whole block if it was put on hold alone, because a
 * checkpoint pads. Messages with thousands of recipients take more; the lane knows the largest that
 * was marked in this life. */
const envelopeBytesTypical = 64 * 1024

const order: Order = { kind: 'move', lane: 'hold', changes: {} }
const underWay = new WeakMap<OpenedEngine, AbortController>()
/** The number of marks at the last check. */
const marksSeen = new WeakMap<OpenedEngine, number>()

/** Compacts `hold` if that is worth it, without waiting. */
export async function compactHold(opened: OpenedEngine): Promise<void> {
  if (underWay.has(opened)) return
  const controller = new AbortController()
  underWay.set(opened, controller)
  const { signal } = controller
  const { life, events } = opened.parts
  try {
    const verb = { orderFor: () => order, isAsked: ({ kind }: { kind: string }) => kind === 'hold' }
    if (await isWorthIt(opened)) await goThrough(opened, { lane: 'hold' }, verb, new Tally({ signal }))
  } catch (error) {
    // The rest is done next time.
    if (isWaybillError(error, 'VERB_ABORTED')) return void marksSeen.delete(opened)
    // Compaction is optional: an unreadable message does not stop other mail.
    if (life.isOver || !isWaybillError(error)) throw error
    events.emit('warning', { code: error.code, message: `hold is not compacted: ${error.message}` })
  } finally {
    underWay.delete(opened)
  }
}

/** A verb is about to walk through `hold` and would have to search for moved messages, so a running
 * compaction stops between two messages. */
export function giveWay(opened: OpenedEngine): void {
  underWay.get(opened)?.abort()
}

/** Less than half of its bytes wait, data included. Looked at only when the marks alone make that
 * possible, and again when there are twice as many of them: a look reads all that waits. */
async function isWorthIt(opened: OpenedEngine): Promise<boolean> {
  const { parts, engine } = opened
  const { journal, lanes, options } = parts
  if (!lanes.hold.marks.areKnown) return false
  const bytes = spanBytes(lanes.hold)
  if (bytes < segmentsMin * lanes.hold.logs!.envelopes.files.grid.segmentBytes) return false
  const markCount = lanes.hold.marks.count
  const typicalBytes = envelopeBytesTypical + frameBytes(options.inlineBytesMax)
  if (2 * markCount * Math.max(typicalBytes, lanes.hold.markedBytesMax) < bytes) return false
  const seenCount = marksSeen.get(opened) ?? 0
  if (seenCount <= markCount && markCount < 2 * seenCount) return false
  // Compaction needs room before it makes any; the last room is for `delete`.
  if (engine.reclaim.isFull) return false
  const leftBytes = (await options.disk.space()).freeBytes - journal.grid.segmentBytes
  if (leftBytes < 0) return false
  marksSeen.set(opened, markCount)
  const waitingBytes = await waitingBytesOf(parts)
  if (waitingBytes * 2 >= bytes) return false
  if (waitingBytes <= leftBytes) return true
  marksSeen.delete(opened)
  return false
}

/** From the first waiting message to the end, and its data. */
const spanBytes = ({ runner, logs, dataFloor }: Lane): number =>
  logs!.envelopes.end - runner.position + (logs!.data.end - dataFloor)

async function waitingBytesOf(parts: Parts): Promise<number> {
  const { hold } = parts.lanes
  const log = hold.logs!.envelopes
  const end = trustedEndOf(parts, hold)
  let waitingBytes = 0
  const stretch = new Stretch(parts, hold)
  try {
    for (let at = hold.runner.position; at < end && !parts.life.isOver;)
      at = await log.read(at, end, (window, offset, place, bytes) => {
        const isEnvelope =
          kindAt(window, offset) === kinds.envelope && classAt(window, offset) === hold.number
        if (isEnvelope && !hold.marks.has(place))
          waitingBytes += bytes + bytesBeside(decodeEnvelope(payloadAt(window, offset)))
        // In pieces, so that others have their turn.
        return place > position(at + 4 * 1024 * 1024)
      })
  } finally {
    stretch.end()
  }
  return waitingBytes
}
