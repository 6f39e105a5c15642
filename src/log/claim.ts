/** The purposes for which groups are appended to the journal, and the spares that each leaves alone.
 * Invariant: new mail leaves the reserve alone. All else leaves one spare for the end of a recovery
 * and the room that is kept for outcomes; accepted mail leaves room for one more checkpoint, too,
 * which may bring segments back. */
import { reserveSpares } from './segment-pool.js'

export type Claim = 'new mail' | 'accepted mail' | 'checkpoint' | 'recovery'

/** Spares that must be left when a claim has entered a new segment. */
export const sparesKept: Readonly<Record<Claim, number>> = {
  'new mail': reserveSpares,
  'accepted mail': 1,
  checkpoint: 1,
  recovery: 0,
}
