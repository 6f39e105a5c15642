/** The purposes for which groups are appended to the journal, and the spares that each must leave.
 * Invariant: new mail leaves the whole reserve. All other purposes leave one spare for the end of a
 * recovery, and the room reserved for outcomes. Accepted mail leaves room for one more checkpoint,
 * too, which may release segments. */
import { reserveSpares } from './segment-pool.js'

export type AppendPurpose = 'new mail' | 'accepted mail' | 'checkpoint' | 'recovery'

/** Spares that must be left when a group for this purpose has entered a new segment. */
export const sparesKept: Readonly<Record<AppendPurpose, number>> = {
  'new mail': reserveSpares,
  'accepted mail': 1,
  checkpoint: 1,
  recovery: 0,
}
