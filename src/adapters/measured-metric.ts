/** Registers a metric whose numbers are read at each scrape, for the queues of one registry. */
import { Counter, Gauge, type Registry } from 'prom-client'
import { queueLabel, type Measured, type Named, type Reading } from './metrics.js'

/** Set anew at each scrape, so that a removed lane, or queue, is not shown. */
export function measure(
  registry: Registry,
  { kind, name, help, labelNames = [] }: Named & Pick<Measured, 'kind'>,
  readings: () => readonly Reading[],
): void {
  const about = { registers: [registry], name, help, labelNames: [queueLabel, ...labelNames] }
  if (kind === 'gauge')
    void new Gauge({
      ...about,
      collect() {
        this.reset()
        for (const { labels, value } of readings()) this.set(labels, value)
      },
    })
  else
    void new Counter({
      ...about,
      collect() {
        this.reset()
        for (const { labels, value } of readings()) this.inc(labels, value)
      },
    })
}
