/** `waybill serve --metrics`: the queue's numbers and the process's own, in one registry, at every address of one place. */
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { seconds } from '../../src/adapters/metrics.js'
import type { Queue } from '../../src/index.js'
import type { Listener } from '../../src/relay/listening.js'
import { listenMetrics, type MetricsSource } from '../../src/relay/metrics-listener.js'
import type { Certificate } from '../../src/relay/session-server.js'
import { expiryMsOf } from './serve-secrets.js'
import { formatEndpoint, type Endpoint } from './values.js'

export const certificateExpiryName = 'waybill_certificate_expiry_timestamp_seconds'

/** Who does not ask for numbers does not pay for them: the library is loaded only here. */
export async function loadMetrics(): Promise<
  (queue: Queue, certificate: () => Certificate | undefined) => Registry
> {
  const [{ prometheus }, { collectDefaultMetrics, Gauge }] = await Promise.all([
    import('../../src/adapters/prometheus.js'),
    import('prom-client'),
  ])
  return (queue, certificate) => {
    const registry = prometheus(queue)
    if (certificate() !== undefined)
      void new Gauge({
        registers: [registry],
        name: certificateExpiryName,
        help: 'When the certificate expires that clients are shown, seconds since 1970.',
        collect() {
          this.set(seconds(expiryMsOf(certificate()!)))
        },
      })
    collectDefaultMetrics({ register: registry })
    return registry
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
