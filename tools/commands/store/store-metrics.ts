/** The metrics of a store, for the queues of a relay. */
import type { Registry } from 'prom-client'
import type { Labels, Named } from '../../../src/adapters/metrics.js'
import type { StoreDisk } from '../../../src/store/store-disk.js'

interface StoreMetric extends Named {
  readonly kind: 'counter' | 'gauge'
  readonly read: (disk: StoreDisk) => number
}

export const storeMetrics: readonly StoreMetric[] = [
  {
    name: 'waybill_store_changes_total',
    help: 'Changes that the store has committed.',
    kind: 'counter',
    read: ({ statistics }) => statistics.changeCount,
  },
  {
    name: 'waybill_store_change_seconds_total',
    help: 'Time from question to answer, of all changes together.',
    kind: 'counter',
    read: ({ statistics }) => statistics.changeTotalMs / 1000,
  },
  {
    name: 'waybill_store_unknown_found_total',
    help: 'Changes whose answer was lost, and that had happened.',
    kind: 'counter',
    read: ({ statistics }) => statistics.foundCount,
  },
  {
    name: 'waybill_store_unknown_missing_total',
    help: 'Changes whose answer was lost, and that had not happened.',
    kind: 'counter',
    read: ({ statistics }) => statistics.missingCount,
  },
  {
    name: 'waybill_store_resumes_total',
    help: 'Times that all connections to the store were replaced.',
    kind: 'counter',
    read: ({ statistics }) => statistics.resumeCount,
  },
  {
    name: 'waybill_store_epoch',
    help: 'Epoch of the queue.',
    kind: 'gauge',
    read: ({ statistics }) => statistics.epoch,
  },
  {
    name: 'waybill_store_proof_age_seconds',
    help: 'Age of the newest proof that this node owns the queue.',
    kind: 'gauge',
    read: ({ proofAgeMs }) => proofAgeMs / 1000,
  },
  {
    name: 'waybill_store_standbys',
    help: 'Standbys that a commit may wait for, at the last look; -1: not known.',
    kind: 'gauge',
    read: ({ statistics }) => statistics.standbyCount ?? -1,
  },
  {
    name: 'waybill_store_bytes',
    help: 'Bytes that the queue takes in the store, at the last look.',
    kind: 'gauge',
    read: ({ statistics }) => statistics.usedBytes,
  },
  {
    name: 'waybill_store_reap_waiting',
    help: 'Unlinked files whose content is still in the store.',
    kind: 'gauge',
    read: ({ statistics }) => statistics.reapWaiting,
  },
]

/** What adds the store's numbers of one more queue, by its labels. */
export type AddedStore = (disk: StoreDisk, labels: Labels) => RemovedStore
export type RemovedStore = () => void

export async function registerStores(registry: Registry): Promise<AddedStore> {
  const { measure } = await import('../../../src/adapters/measured-metric.js')
  const stores = new Map<StoreDisk, Labels>()
  for (const { read, ...metric } of storeMetrics)
    measure(registry, metric, () => Array.from(stores, ([disk, labels]) => ({ labels, value: read(disk) })))
  return (disk, labels) => {
    stores.set(disk, labels)
    return () => void stores.delete(disk)
  }
}
