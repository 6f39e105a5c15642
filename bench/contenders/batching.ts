/** Group commit for a store that has none: arrivals during a commit form the next one.
 * A durable message has been delivered; its end is part of the next commit, in the
 * store's best way. */
import type { Store } from './contender.js'
import { Deliveries } from './deliveries.js'

export interface StoreBatch {
  /** Numbers of new messages, and of those that ended: each has been in `begun` of an
   * earlier batch. */
  readonly begun: readonly number[]
  readonly ended: readonly number[]
}

/** @param commit durable when it returns, or when it settles
 * @param close closes the store
 * @param deliver what is done with a durable message; by default nothing */
export function batching(
  commit: (batch: StoreBatch) => Promise<void> | void,
  close: () => Promise<void> | void,
  deliver?: () => Promise<void>,
): Store {
  const deliveries = new Deliveries(deliver)
  let begun: number[] = []
  let ended: number[] = []
  let waiting: (() => void)[] = []
  let number = 0
  let busy = false
  let soon = false
  let syncCount = 0
  let whenIdle: (() => void) | undefined

  const want = (): void => {
    if (busy || soon) return
    soon = true
    setImmediate(() => {
      soon = false
      void work()
    })
  }
  const work = async (): Promise<void> => {
    if (begun.length + ended.length === 0) return deliveries.isIdle ? whenIdle?.() : undefined
    const batch = { begun, ended }
    const durable = waiting
    begun = []
    ended = []
    waiting = []
    busy = true
    await commit(batch)
    busy = false
    syncCount++
    for (const settle of durable) settle()
    for (const id of batch.begun)
      deliveries.begin(() => {
        ended.push(id)
        want()
      })
    want()
  }
  return {
    submit: () => {
      begun.push(number++)
      want()
      return new Promise<void>((resolve) => waiting.push(resolve))
    },
    drained: () =>
      new Promise((resolve) => {
        whenIdle = resolve
        want()
      }),
    syncs: () => ({ syncCount, writtenBytes: 0 }),
    close: async () => close(),
  }
}
