/** `waybill serve --metrics`: the queue's numbers and the process's own, in one registry, behind one port. */
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Queue } from '../../src/index.js'
import type { Listener } from '../../src/relay/listening.js'
import { listenMetrics } from '../../src/relay/metrics-listener.js'
import { formatEndpoint, type Endpoint } from './values.js'

/** Who does not ask for numbers does not pay for them: the library is loaded only here. */
export async function loadMetrics(): Promise<(queue: Queue) => Registry> {
  const [{ prometheus }, { collectDefaultMetrics }] = await Promise.all([
    import('../../src/adapters/prometheus.js'),
    import('prom-client'),
  ])
  return (queue) => {
    const registry = prometheus(queue)
    collectDefaultMetrics({ register: registry })
    return registry
  }
}

/** Says where it answers. @throws the system's error when the port cannot be had */
export async function answerForMetrics(
  queue: Queue,
  registry: Registry,
  endpoint: Endpoint,
  log: Logger,
): Promise<Listener> {
  const listener = await listenMetrics(
    {
      contentType: registry.contentType,
      metrics: () => registry.metrics(),
      isAlive: () => !queue.isCrashed,
    },
    { ...endpoint, onError: (error) => log.warn({ err: error }, 'the metrics cannot be read') },
  )
  const text = formatEndpoint(listener)
  log.info({ metrics: text }, 'metrics')
  process.stdout.write(`metrics on http://${text}/metrics\n`)
  return listener
}
