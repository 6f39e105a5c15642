/** `hold`, when most of it is passed over, is compacted: what still waits is appended at its end, so that the segments before it go.
 * Invariant: each message is moved as by a verb: its old place marked and its new one vouched for by the same checkpoint, so that
 * it is never on hold twice, nor not at all. One compaction goes on at a time. */
import { position } from '../base/position.js'
import type { OpenedEngine } from '../engine/open.js'
import type { Order } from '../engine/orders.js'
import { Stretch, trustedEndOf } from '../engine/waiting.js'
import { isWaybillError } from '../errors.js'
import { classAt, kindAt, kinds } from '../record/frame.js'
import { goThrough } from './pass.js'
import { Tally } from './tally.js'

/** A lane shorter than so many segments is left alone. */
const segmentsMin = 2
/** No envelope is shorter: so many marks are so many bytes, at least. */
const envelopeBytesMin = 88

const order: Order = { kind: 'move', lane: 'hold', changes: {} }
const underWay = new WeakSet<OpenedEngine>()

/** Compacts `hold` if that is worth it; nobody need wait. */
export async function compactHold(opened: OpenedEngine): Promise<void> {
  if (underWay.has(opened)) return
  underWay.add(opened)
  const { life, events } = opened.parts
  try {
    const verb = { orderFor: () => order, isAsked: ({ kind }: { kind: string }) => kind === 'hold' }
    if (await isWorthIt(opened)) await goThrough(opened, { lane: 'hold' }, verb, new Tally({}))
  } catch (error) {
    // It tidies up, no more: where it cannot read, the rest of the mail goes on.
    if (life.isOver || !isWaybillError(error)) throw error
    events.emit('warning', { code: error.code, message: `hold is not compacted: ${error.message}` })
  } finally {
    underWay.delete(opened)
  }
}

/** Less than half of its bytes wait. Looked at only when the marks alone make that possible. */
async function isWorthIt({ parts, engine }: OpenedEngine): Promise<boolean> {
  // It needs room before it makes any.
  if (engine.reclaim.isFull) return false
  const { hold } = parts.lanes
  const log = hold.logs!.envelopes
  const from = hold.runner.position
  const end = trustedEndOf(parts, hold)
  const bytes = end - from
  if (bytes < segmentsMin * log.files.grid.segmentBytes) return false
  if (hold.marks.count * envelopeBytesMin * 8 < bytes) return false
  let waitingBytes = 0
  const stretch = new Stretch(parts, hold)
  try {
    for (let at = from; at < end && !parts.life.isOver;)
      at = await log.read(at, end, (window, offset, place, frameBytes) => {
        if (kindAt(window, offset) === kinds.envelope && classAt(window, offset) === hold.number)
          waitingBytes += hold.marks.has(place) ? 0 : frameBytes
        // In pieces, so that others have their turn.
        return place > position(at + 4 * 1024 * 1024)
      })
  } finally {
    stretch.end()
  }
  return waitingBytes * 2 < bytes
}
