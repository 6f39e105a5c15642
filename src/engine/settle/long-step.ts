/** Cuts a step over very many recipients in pieces, so that the event loop serves others in
 * between.
 * Invariant: nothing is decided in one piece and appended in another without a second look; the
 * caller looks again. */
import type { Parts } from '../life/parts.js'

/** A piece over so many takes some milliseconds. */
const recipientsMax = 5000

/** Settles at once for most messages, and a turn of the event loop later for one with more
 * recipients.
 * @throws WaybillError QUEUE_CRASHED by rejection, when this life has ended meanwhile */
export async function betweenPieces(
  { clock, life }: Pick<Parts, 'clock' | 'life'>,
  recipientCount: number,
): Promise<void> {
  if (recipientCount <= recipientsMax) return
  await new Promise<void>((resolve) => clock.soon(resolve))
  life.check()
}
