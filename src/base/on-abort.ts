/** Waits for the abort of a signal that many submissions share.
 * Invariant: a signal has one listener of ours while something waits, and none otherwise.
 * Why: Node warns of a leak at the eleventh listener. */

class Waiting {
  readonly callbacks = new Set<() => void>()
  readonly listener = (): void => {
    for (const callback of this.callbacks) callback()
  }
}

const bySignal = new WeakMap<AbortSignal, Waiting>()

/** Calls back when the signal is aborted, in the order of registration.
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
