/** `waybill serve --metrics`: the queue's numbers and the process's own, in one registry, at every
 * address of one place. */
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { queueLabel, seconds, type Named } from '../../../src/adapters/metrics.js'
import type { Queue } from '../../../src/index.js'
import type { Listener } from '../../../src/relay/listening.js'
import { listenMetrics, type MetricsSource } from '../../../src/relay/metrics-listener.js'
import type { StoreDisk } from '../../../src/store/store-disk.js'
import { registerStores, type AddedStore } from '../store/store-metrics.js'
import type { LastReload } from './reload.js'
import { formatEndpoint, type Endpoint } from '../cli/values.js'

const certificateExpiry: Named = {
  name: 'waybill_certificate_expiry_timestamp_seconds',
  help: 'When the first certificate of SMTP or HTTP expires, seconds since 1970.',
}
const reloadSuccess: Named = {
  name: 'waybill_config_last_reload_successful',
  help: '1 when the files that were read last were right; 0: older ones are used.',
}
const reloadSuccessTime: Named = {
  name: 'waybill_config_last_reload_success_timestamp_seconds',
  help: 'When the files were read that are used, seconds since 1970.',
}

/** Of a relay, beside those of its queue. */
export const relayMetrics: readonly Named[] = [certificateExpiry, reloadSuccess, reloadSuccessTime]

/** The numbers of a relay's queue, and of those that it adopts: these have the label `queue`. */
export interface RelayMetrics {
  readonly registry: Registry
  /** The store of the relay's own queue. Without it none is adopted. */
  store(disk: StoreDisk): Promise<void>
  /** In the turn in which it was opened. */
  adopted(name: string, queue: Queue, disk: StoreDisk): void
}

type Registered = (
  queue: Queue,
  certificateExpiresAt: () => number | undefined,
  lastReload: () => LastReload,
) => RelayMetrics

/** A relay without metrics does not pay for them: the library is loaded only here. */
export async function loadMetrics(): Promise<Registered> {
  const [{ prometheus }, { collectDefaultMetrics, Gauge }] = await Promise.all([
    import('../../../src/adapters/prometheus.js'),
    import('prom-client'),
  ])
  return (queue, certificateExpiresAt, lastReload) => {
    const registry = prometheus(queue)
    const gauge = ({ name, help }: Named, read: () => number): void =>
      void new Gauge({
        registers: [registry],
        name,
        help,
        collect() {
          this.set(read())
        },
      })
    if (certificateExpiresAt() !== undefined) gauge(certificateExpiry, () => seconds(certificateExpiresAt()!))
    gauge(reloadSuccess, () => (lastReload().isSuccessful ? 1 : 0))
    gauge(reloadSuccessTime, () => seconds(lastReload().successAtMs))
    collectDefaultMetrics({ register: registry })
    let addStore: AddedStore | undefined
    return {
      registry,
      store: async (disk) => {
        addStore = await registerStores(registry)
        addStore(disk, {})
      },
      adopted: (name, lent, disk) => {
        prometheus(lent, registry, { name, endsWithQueue: true })
        const remove = addStore?.(disk, { [queueLabel]: name })
        lent.on('crashed', () => remove?.())
      },
    }
  }
}

/** Says where it answers: at all of the endpoints, or at none.
 * @throws the system's error when a port cannot be had */
export async function answerForMetrics(
  queue: Pick<Queue, 'isCrashed'>,
  registry: Registry,
  endpoints: readonly Endpoint[],
  log: Logger,
): Promise<Listener[]> {
  const source: MetricsSource = {
    contentType: registry.contentType,
    metrics: () => registry.metrics(),
    isAlive: () => !queue.isCrashed,
  }
  const onError = (error: unknown): void => log.warn({ err: error }, 'the metrics cannot be read')
  const listeners: Listener[] = []
  try {
    for (const endpoint of endpoints) listeners.push(await listenMetrics(source, { ...endpoint, onError }))
  } catch (error) {
    for (const listener of listeners) listener.close()
    throw error
  }
  for (const listener of listeners) {
    const text = formatEndpoint(listener)
    log.info({ metrics: text }, 'metrics')
    process.stdout.write(`metrics on http://${text}/metrics\n`)
  }
  return listeners
}
