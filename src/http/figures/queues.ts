/** The queues that are seen from here: those of a store, or the only one.
 * Invariant: of queues that others own nothing is read that grows with their mail. */
import type { StoreStatus } from '../../store/store-status.js'
import type { ShownFigures } from './shown-figures.js'

/** Where the queue of an API lies. */
export interface QueuePlace {
  readonly name: string
  /** Looks at the store that it lies in. Default: it lies in none. */
  readonly status?: () => Promise<StoreStatus>
}

export interface ShownQueue {
  readonly name: string
  /** It is the one behind this API. */
  readonly isHere: boolean
  readonly home: string | null
  readonly owner: string | null
  readonly address: string | null
  readonly epoch: number | null
  readonly state: 'beats' | 'silent' | 'none'
  readonly silentMsMin: number | null
  readonly silentMsMax: number | null
  readonly usedBytes: number | null
  readonly quotaBytes: number | null
  /** Known of the one that is here alone. */
  readonly activeCount: number | null
  readonly waitingBytes: number | null
}

export interface ShownQueues {
  /** null: the queue lies in a directory. */
  readonly store: string | null
  readonly timeline: number | null
  readonly standbyCount: number | null
  readonly unsafe: readonly string[]
  readonly queues: readonly ShownQueue[]
}

/** @throws WaybillError what the store refuses with, or did not answer */
export async function shownQueues(place: QueuePlace, figures: () => ShownFigures): Promise<ShownQueues> {
  const found = await place.status?.()
  const here = figures()
  const counts = {
    activeCount: here.active.count,
    waitingBytes: here.lanes.reduce((sum, { waitingBytes }) => sum + waitingBytes, 0),
  }
  if (found === undefined)
    return {
      store: null,
      timeline: null,
      standbyCount: null,
      unsafe: [],
      queues: [{ ...onlyQueue(place.name, here.hostname), ...counts }],
    }
  const noCounts = { activeCount: null, waitingBytes: null }
  const queues = found.queues.map(({ home, owner, address, silentMsMax, ...queue }) => ({
    ...queue,
    home: home ?? null,
    owner: owner ?? null,
    address: address ?? null,
    silentMsMax: silentMsMax ?? null,
    isHere: queue.name === place.name,
    ...(queue.name === place.name ? counts : noCounts),
  }))
  const { store, timeline, standbyCount, unsafe } = found
  return { store, timeline, standbyCount: standbyCount ?? null, unsafe, queues }
}

/** It answers, so its owner lives. */
const onlyQueue = (name: string, hostname: string): Omit<ShownQueue, 'activeCount' | 'waitingBytes'> => ({
  name,
  isHere: true,
  home: hostname,
  owner: hostname,
  address: null,
  epoch: null,
  state: 'beats',
  silentMsMin: 0,
  silentMsMax: 0,
  usedBytes: null,
  quotaBytes: null,
})
