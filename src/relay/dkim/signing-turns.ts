/** Turns in which mail is signed, of all transports together.
 * Invariant: at most `turnsMax` signatures are made at once, first in, first out. They run on the
 * threads of Node's pool (four by default), where the journal's next write waits, too (README.md in
 * this folder has for how long). */
import { availableParallelism } from 'node:os'

/** Half of the pool, and a processor is left to the queue. */
export const turnsMax: number = availableParallelism() > 2 ? 2 : 1

let signingCount = 0
/** As many as attempts are under way, at most. */
const waiting: (() => void)[] = []

export async function inTurn<T>(sign: () => Promise<T>): Promise<T> {
  if (signingCount < turnsMax) signingCount++
  else await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await sign()
  } finally {
    const begin = waiting.shift()
    if (begin === undefined) signingCount--
    else begin()
  }
}
