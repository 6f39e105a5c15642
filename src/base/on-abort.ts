/** The abort of a signal that many wait for: a program that stops has one signal for all that it submits.
 * Invariant: a signal has one listener of ours while anybody waits, and none when nobody does: of an eleventh Node warns as of a leak. */

class Waiting {
  readonly callbacks = new Set<() => void>()
  readonly listener = (): void => {
    for (const callback of this.callbacks) callback()
  }
}

const bySignal = new WeakMap<AbortSignal, Waiting>()

/** Calls back when the signal is aborted, in the order in which they came who wait for it.
 * @returns ends the waiting */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => undefined
  const waiting = bySignal.get(signal) ?? new Waiting()
  if (waiting.callbacks.size === 0) {
    bySignal.set(signal, waiting)
    signal.addEventListener('abort', waiting.listener)
  }
  waiting.callbacks.add(callback)
  return () => {
    if (waiting.callbacks.delete(callback) && waiting.callbacks.size === 0)
      signal.removeEventListener('abort', waiting.listener)
  }
}
