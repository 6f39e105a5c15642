/** What `waybill store status` tells of a store: its queues, who owns them, and whether it is
 * safe.
 * Invariant: nothing is changed and no clock is compared: whether an owner beats is what two
 * looks saw, `betweenMs` apart. */
import { pause, type Clock } from '../base/clock.js'
import { WaybillError } from '../errors.js'
import { unsafeReasons } from './safety.js'
import type { Answer, QueueRow, SafetyFacts, Session, Standing, Store } from './store.js'

export interface QueueStatus {
  readonly name: string
  readonly home: string | undefined
  readonly owner: string | undefined
  readonly address: string | undefined
  readonly epoch: number
  /** `beats`, `silent` for at least the time between two looks, or `none`: nobody has had it
   * yet. */
  readonly state: 'beats' | 'silent' | 'none'
  readonly usedBytes: number
  readonly quotaBytes: number
}

export interface StoreStatus {
  readonly store: string
  readonly timeline: number
  readonly standbyCount: number | undefined
  /** Why "committed" does not mean two machines; empty: it does. */
  readonly unsafe: readonly string[]
  readonly queues: readonly QueueStatus[]
}

/** @throws WaybillError STORE_UNREACHABLE, NOT_A_QUEUE, DISK_FAILED */
export async function storeStatus(store: Store, clock: Clock, betweenMs: number): Promise<StoreStatus> {
  const session = valueOf(store, await store.connect(undefined))
  try {
    const facts: SafetyFacts = valueOf(store, await session.safety())
    const rows = valueOf(store, await session.queues())
    const first = await standings(store, session, rows)
    if (first.some(({ nonce }) => nonce !== undefined)) await pause(clock, betweenMs, undefined)
    const second = await standings(store, session, rows)
    const queues: QueueStatus[] = []
    for (const [i, row] of rows.entries()) {
      const usedBytes = valueOf(store, await session.usedBytes(row.queue))
      const now = second[i]!
      queues.push({
        name: row.name,
        home: row.home,
        owner: now.node,
        address: now.address,
        epoch: now.epoch,
        state: now.nonce === undefined ? 'none' : now.beat === first[i]!.beat ? 'silent' : 'beats',
        usedBytes,
        quotaBytes: row.quotaBytes,
      })
    }
    const { timeline } = session
    const unsafe = unsafeReasons(facts)
    return { store: store.name, timeline, standbyCount: facts.standbyCount, unsafe, queues }
  } finally {
    session.close()
  }
}

async function standings(store: Store, session: Session, rows: readonly QueueRow[]): Promise<Standing[]> {
  const found: Standing[] = []
  for (const { queue } of rows) found.push(valueOf(store, await session.standing(queue)))
  return found
}

/** @throws WaybillError what the store refuses with, or did not answer */
export function valueOf<T>(store: Store, answer: Answer<T>): T {
  if (answer.kind === 'done') return answer.value
  if (answer.kind === 'unknown') throw answer.error
  if (answer.refusal.kind === 'failed') throw answer.refusal.error
  throw new WaybillError('DISK_FAILED', `the store refused: ${answer.refusal.kind}`, {
    directory: store.name,
  })
}
