/** Drains a life: no attempt begins, and those under way get the time to end.
 * Invariant: a life that is drained has no attempt under way and no outcome that is not durable, so
 * a crash behind it repeats no delivery. Draining itself writes nothing. */
import { checkOptionNames, signalOption } from '../../base/options.js'
import { onAbort } from '../../base/on-abort.js'
import type { Life } from '../life/life.js'
import type { Dispatch } from './dispatch.js'

export interface DrainOptions {
  /** When it is aborted, the drain settles at once, whatever is under way. */
  readonly signal?: AbortSignal | undefined
}

export interface DrainResult {
  /** All attempts have ended, and their outcomes are durable. */
  readonly isDrained: boolean
  /** Attempts that have not ended; the next life repeats them. */
  readonly underWayCount: number
}

/** @throws WaybillError OPTION_INVALID, QUEUE_CRASHED by rejection */
export async function drain(
  life: Life,
  dispatch: Pick<Dispatch, 'gate' | 'whenStill' | 'underWayCount'>,
  allDurable: () => Promise<void>,
  options: DrainOptions,
): Promise<DrainResult> {
  // `{ timeoutMs }` would wait for an attempt that hangs.
  checkOptionNames(options, { signal: true })
  const { signal } = options
  signalOption(signal)
  life.check()
  dispatch.gate.close()
  const still = async (): Promise<boolean> => {
    await dispatch.whenStill()
    await allDurable()
    return true
  }
  const isDrained = await life.orEnd(unlessAborted(still(), signal))
  return { isDrained, underWayCount: dispatch.underWayCount }
}

/** What the work comes to, or false when the signal is aborted before. */
async function unlessAborted(work: Promise<boolean>, signal: AbortSignal | undefined): Promise<boolean> {
  if (signal?.aborted === true) {
    work.catch(() => undefined)
    return false
  }
  let stopWaiting = (): void => undefined
  const aborted = new Promise<boolean>((resolve) => {
    stopWaiting = onAbort(signal, () => resolve(false))
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    stopWaiting()
  }
}
