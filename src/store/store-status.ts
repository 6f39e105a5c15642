/** The status of a store: its queues, their owners, and whether it is safe.
 * Invariant: nothing is changed and no clock is compared: whether an owner beats is what looks of
 * this process saw, measured by its own clock. */
import { pause, type Clock } from '../base/clock.js'
import { unsafeReasons } from './replication-safety.js'
import {
  refusalError,
  type Answer,
  type QueueRow,
  type SafetyFacts,
  type Session,
  type Standing,
  type Store,
} from './store.js'

export interface QueueStatus {
  readonly name: string
  readonly home: string | undefined
  readonly owner: string | undefined
  readonly address: string | undefined
  readonly epoch: number
  /** `beats`, `silent` for at least the time between two looks, or `none`: nobody has had it
   * yet. */
  readonly state: 'beats' | 'silent' | 'none'
  /** At least so long ago its owner has renewed its ownership: looks since then saw no beat. */
  readonly silentMsMin: number
  /** And at most; undefined: no look has seen a beat. */
  readonly silentMsMax: number | undefined
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
export const storeStatus = (store: Store, clock: Clock, betweenMs: number): Promise<StoreStatus> =>
  new StoreObserver(store, clock, betweenMs).status()

/** The beat of a queue, as looks saw it. */
interface SeenBeat {
  readonly beat: number
  readonly epoch: number
  /** When it was seen first. */
  readonly sinceMs: number
  /** The last look that saw another one. */
  readonly beforeMs: number | undefined
}

/** What was seen so many spans between two looks ago says nothing of now. */
const memorySpans = 5

/** Looks at a store as often as it is asked, and remembers the beats of the look before. */
export class StoreObserver {
  readonly #store: Store
  readonly #clock: Clock
  readonly #betweenMs: number
  #seen: ReadonlyMap<number, SeenBeat> = new Map()
  #lookedAtMs = -Infinity
  #underWay: Promise<StoreStatus> | undefined

  /** @param betweenMs pause between two looks where there was none before; owners beat in less */
  constructor(store: Store, clock: Clock, betweenMs: number) {
    this.#store = store
    this.#clock = clock
    this.#betweenMs = betweenMs
  }

  /** Callers at one time share a look.
   * @throws WaybillError STORE_UNREACHABLE, NOT_A_QUEUE, DISK_FAILED */
  status(): Promise<StoreStatus> {
    this.#underWay ??= this.#look().finally(() => (this.#underWay = undefined))
    return this.#underWay
  }

  async #look(): Promise<StoreStatus> {
    const store = this.#store
    const session = valueOf(await store.connect(undefined))
    try {
      const facts: SafetyFacts = valueOf(await session.safety())
      const rows = valueOf(await session.queues())
      if (this.#clock.monotonicMs() - this.#lookedAtMs > memorySpans * this.#betweenMs) {
        this.#seen = new Map()
        const first = await standings(session, rows)
        this.#note(rows, first)
        if (first.some(({ nonce }) => nonce !== undefined))
          await pause(this.#clock, this.#betweenMs, undefined)
      }
      const now = await standings(session, rows)
      this.#note(rows, now)
      const queues: QueueStatus[] = []
      for (const [i, row] of rows.entries()) {
        const usedBytes = valueOf(await session.usedBytes(row.queue))
        queues.push({ ...this.#told(row, now[i]!), usedBytes, quotaBytes: row.quotaBytes })
      }
      const { timeline } = session
      const unsafe = unsafeReasons(facts)
      return { store: store.name, timeline, standbyCount: facts.standbyCount, unsafe, queues }
    } finally {
      session.close()
    }
  }

  #note(rows: readonly QueueRow[], found: readonly Standing[]): void {
    const nowMs = this.#clock.monotonicMs()
    const seen = new Map<number, SeenBeat>()
    for (const [i, { queue }] of rows.entries()) {
      const { beat, epoch } = found[i]!
      const before = this.#seen.get(queue)
      const isSame = before?.beat === beat && before.epoch === epoch
      const beforeMs = before === undefined ? undefined : this.#lookedAtMs
      seen.set(queue, isSame ? before : { beat, epoch, sinceMs: nowMs, beforeMs })
    }
    this.#seen = seen
    this.#lookedAtMs = nowMs
  }

  #told(
    { queue, name, home }: QueueRow,
    { nonce, node, address, epoch }: Standing,
  ): Omit<QueueStatus, 'usedBytes' | 'quotaBytes'> {
    const { sinceMs, beforeMs } = this.#seen.get(queue)!
    const silentMsMin = Math.floor(this.#lookedAtMs - sinceMs)
    const silentMsMax = beforeMs === undefined ? undefined : Math.ceil(this.#lookedAtMs - beforeMs)
    const isBeating = silentMsMax !== undefined && silentMsMin < this.#betweenMs
    const state = nonce === undefined ? 'none' : isBeating ? 'beats' : 'silent'
    return { name, home, owner: node, address, epoch, state, silentMsMin, silentMsMax }
  }
}

async function standings(session: Session, rows: readonly QueueRow[]): Promise<Standing[]> {
  const found: Standing[] = []
  for (const { queue } of rows) found.push(valueOf(await session.standing(queue)))
  return found
}

/** @throws WaybillError what the store refuses with, or did not answer */
export function valueOf<T>(answer: Answer<T>): T {
  if (answer.kind === 'done') return answer.value
  if (answer.kind === 'unknown') throw answer.error
  throw refusalError(answer.refusal)
}
