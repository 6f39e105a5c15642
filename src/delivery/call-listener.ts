/** Calls what is not ours.
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

export const listenerDefectText = (name: string, error: unknown): string =>
  `a listener of '${name}' failed: ${isError(error) ? (error.stack ?? error.message) : String(error)}`
