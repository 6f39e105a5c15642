/** Calls a function of the embedding program.
 * Invariant: what a listener throws, or rejects with, stops nothing of the caller. */
import { isError, isThenable } from '../base/realms.js'

/** @param onDefect gets its error */
export function callListener(listener: () => unknown, onDefect: (error: unknown) => void): void {
  try {
    const told = listener()
    if (isThenable(told)) void Promise.resolve(told).catch(onDefect)
  } catch (error) {
    onDefect(error)
  }
}

/** An answer that is due at once, and may be a promise by mistake. Its caller refuses that; nobody
 * waits for it:
 *    1. a program has a `route` that is async, and its database is down
 *    2. the promise rejects, and that ends the process
 *    3. the same at each start, as long as mail waits
 * @returns the answer */
export function notAwaited(answer: unknown): unknown {
  if (isThenable(answer)) void Promise.resolve(answer).catch(() => undefined)
  return answer
}

export const listenerDefectText = (name: string, error: unknown): string =>
  `a listener of '${name}' failed: ${isError(error) ? (error.stack ?? error.message) : String(error)}`
