/** Answers calls about a queue in a store, from commands on any machine.
 * Invariant: a call is taken only while this life owns the queue, at the server that commands call.
 * A connection that fails is replaced, and only its own calls end; no call keeps a delivery or a
 * commit waiting. */
import { isError } from '../base/realms.js'
import { pause, systemClock } from '../base/clock.js'
import { WaybillError } from '../errors.js'
import type { CallConnection, CallStore, OwnLife } from '../store/calls.js'
import { CallStream } from './call-stream.js'
import type { ControlledQueue } from './controlled-queue.js'
import { ControlClients, type ControlOptions, type ControlServer } from './server.js'

/** How long a notice may be missing. */
const lookMs = 2000
const againMs = 2000

/** @param life that owns the queue; undefined while it does not
 * @throws WaybillError OPTION_INVALID */
export function serveStoreControl(
  queue: ControlledQueue,
  store: CallStore,
  life: () => OwnLife | undefined,
  options: ControlOptions = {},
): ControlServer {
  const clients = new ControlClients(queue, options)
  const { clock = systemClock } = options
  const closed = new AbortController()
  let toldFailure: string | undefined
  const serve = async ({ calls, session }: CallConnection): Promise<void> => {
    let wake: (() => void) | undefined
    const look = (): void => wake?.()
    const stopNotices = calls.onNotice(look)
    closed.signal.addEventListener('abort', look)
    while (!closed.signal.aborted) {
      const own = life()
      if (own === undefined) return
      // Calls wait for no standby, so a server that was replaced, and does not know it, answers
      // looks for good, while commands call at the new one.
      if (own.timeline !== undefined && own.timeline > session.timeline) break
      const noticed = new Promise<void>((resolve) => (wake = resolve))
      const taken = await calls.take(own.queue, own.nonce)
      if (taken.kind !== 'done') break
      toldFailure = undefined
      for (const call of taken.value) void clients.serve(new CallStream(calls, call, 'taker', clock))
      const waiting = new AbortController()
      await Promise.race([noticed, pause(clock, lookMs, waiting.signal)])
      waiting.abort()
    }
    closed.signal.removeEventListener('abort', look)
    stopNotices()
  }
  const run = async (): Promise<void> => {
    while (!closed.signal.aborted && life() !== undefined) {
      const connected = await store.connectCalls()
      if (connected.kind === 'done') {
        const stop = (): void => connected.value.calls.close()
        closed.signal.addEventListener('abort', stop)
        if (!closed.signal.aborted) await serve(connected.value)
        closed.signal.removeEventListener('abort', stop)
        stop()
      } else if (connected.kind === 'refused' && connected.refusal.kind === 'failed') {
        // The same once a minute would fill the log.
        const { error } = connected.refusal
        if (toldFailure !== error.message) options.onError?.(error)
        toldFailure = error.message
      }
      await pause(clock, againMs, closed.signal)
    }
  }
  run().catch((error: unknown) => options.onError?.(asError(error)))
  return {
    close: () => {
      clients.close()
      closed.abort()
    },
  }
}

const asError = (error: unknown): Error =>
  isError(error) ? error : new WaybillError('DISK_FAILED', String(error))
