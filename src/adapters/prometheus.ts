/** `waybill/prometheus`: queues in a registry of prom-client. metrics.ts and event-metrics.ts list
 * the metrics.
 * Invariant: all numbers of a scrape come from one snapshot of each queue. Within a life no counter
 * goes down; the next life counts from 0, as Prometheus expects after a restart. */
import { Counter, Gauge, Registry } from 'prom-client'
import { RoomReading } from '../engine/accept/room-reading.js'
import type { Room } from '../engine/accept/space-watch.js'
import type { QueueStatistics } from '../admin/select/statistics.js'
import { checkOptionNames } from '../base/options.js'
import { WaybillError } from '../errors.js'
import type { Queue } from '../queue.js'
import { countedByEvents, notedByEvents, type Counted } from './event-metrics.js'
import { measure } from './measured-metric.js'
import {
  asked,
  followed,
  measured,
  queueLabel,
  type Labels,
  type Measured,
  type Named,
  type Reading,
} from './metrics.js'

/** Of the queue's life. */
export const upMetric: Named = {
  name: 'waybill_up',
  help: '1 while the queue lives, 0 when it has crashed.',
}

export type { Named }

export type WatchedQueue = Pick<Queue, 'stats' | 'room' | 'isCrashed' | 'on'> &
  Partial<Pick<Queue, 'consumers'>>

export interface PrometheusOptions {
  /** The label `queue` of its numbers. Default: none for the first queue of a registry, and 2, 3, …
   * for further ones. */
  readonly name?: string
  /** The queue's series go when it crashes, as is right for one that was lent. Default false: they
   * stay until the next queue comes, and `waybill_up` is 0. */
  readonly endsWithQueue?: boolean
}

interface Watched {
  readonly queue: WatchedQueue
  readonly endsWithQueue: boolean
  readonly labels: Labels
  /** One for all that is collected in one turn. */
  readonly statistics: () => QueueStatistics
  readonly room: () => Room | undefined
}

/** Queues of each registry. */
const watchedIn = new WeakMap<Registry, Watched[]>()

/** Registers the metrics of an open queue. Events are counted from here on: call it in the turn in
 * which `openQueue` has settled, so that none is missed. Queues that live together in a registry
 * differ by the label `queue`; the place of one that has crashed is free for the next.
 * @param registry the embedder's own, or a new one
 * @returns the registry, for `metrics()` and `contentType`
 * @throws WaybillError OPTION_INVALID if a queue of that name lives in it, or it has another metric
 * of one of these names */
export function prometheus(
  queue: WatchedQueue,
  registry: Registry = new Registry(),
  options: PrometheusOptions = {},
): Registry {
  checkOptionNames(options, { name: true, endsWithQueue: true })
  const { name, endsWithQueue = false } = options
  const watched = livingIn(registry)
  const label = name ?? freeName(watched)
  if (watched.some((other) => other.queue === queue || other.labels[queueLabel] === label))
    throw new WaybillError(
      'OPTION_INVALID',
      `this queue, or one of its name (${label ?? 'none'}), lives in this registry`,
      {
        option: 'name',
      },
    )
  if (watched.length === 0) registerAll(registry, watched)
  const labels: Labels = label === undefined ? {} : { queue: label }
  const statistics = oncePerScrape(() => queue.stats())
  watched.push({ queue, endsWithQueue, labels, statistics, room: roomOf(queue) })
  for (const metric of countedByEvents) count(queue, labels, metric, registry)
  for (const { name: noted, event, read } of notedByEvents) {
    const gauge = registry.getSingleMetric(noted) as Gauge
    queue.on(event, (happened) => gauge.set(labels, read(happened)))
  }
  return registry
}

const names: readonly string[] = [
  upMetric.name,
  ...[...measured, ...asked, ...followed, ...countedByEvents, ...notedByEvents].map(({ name }) => name),
]

/** Removes the series of crashed queues, and all metrics with the last one. */
function livingIn(registry: Registry): Watched[] {
  const watched = watchedIn.get(registry) ?? []
  for (const one of watched.filter(({ queue }) => queue.isCrashed)) remove(one, watched, registry)
  return watched
}

function remove(one: Watched, watched: Watched[], registry: Registry): void {
  watched.splice(watched.indexOf(one), 1)
  if (watched.length === 0) {
    for (const name of names) registry.removeSingleMetric(name)
    watchedIn.delete(registry)
  } else
    for (const { name } of [...countedByEvents, ...notedByEvents])
      forget(registry.getSingleMetric(name) as Counter | Gauge, one.labels)
}

/** The series of one queue. */
function forget(metric: Counter | Gauge, { queue }: Labels): void {
  const { hashMap } = metric as unknown as { hashMap: Record<string, { labels: Labels }> }
  for (const { labels } of Object.values(hashMap)) if (labels[queueLabel] === queue) metric.remove(labels)
}

function freeName(watched: readonly Watched[]): string | undefined {
  const taken = new Set(watched.map(({ labels }) => labels[queueLabel]))
  if (!taken.has(undefined)) return undefined
  let number = 2
  while (taken.has(String(number))) number++
  return String(number)
}

/** @throws WaybillError OPTION_INVALID */
function registerAll(registry: Registry, watched: Watched[]): void {
  for (const name of names)
    if (registry.getSingleMetric(name) !== undefined)
      throw new WaybillError('OPTION_INVALID', `the registry has a metric ${name} already`, {
        option: 'registry',
      })
  watchedIn.set(registry, watched)
  measureAll({ ...upMetric, kind: 'gauge' }, registry, watched, ({ queue }) => (queue.isCrashed ? 0 : 1))
  for (const metric of measured)
    measureAll(metric, registry, watched, ({ statistics }) => metric.read(statistics()))
  for (const metric of asked)
    measureAll({ ...metric, kind: 'gauge' }, registry, watched, ({ room }) => {
      const answer = room()
      return answer === undefined ? [] : metric.read(answer)
    })
  for (const metric of followed)
    measureAll({ ...metric, kind: 'gauge' }, registry, watched, ({ queue }) => {
      const consumers = queue.isCrashed ? [] : (queue.consumers?.() ?? [])
      return consumers.map((one) => ({ labels: { consumer: one.name }, value: metric.read(one) }))
    })
  for (const { name, help, labelNames = [] } of countedByEvents)
    // Three events may grow one counter.
    if (registry.getSingleMetric(name) === undefined)
      void new Counter({ registers: [registry], name, help, labelNames: [queueLabel, ...labelNames] })
  for (const { name, help } of notedByEvents)
    void new Gauge({ registers: [registry], name, help, labelNames: [queueLabel] })
}

/** The same for all that is collected in one turn. */
function oncePerScrape<T>(take: () => T): () => T {
  let taken: { readonly value: T } | undefined
  return () => {
    if (taken === undefined) {
      taken = { value: take() }
      queueMicrotask(() => (taken = undefined))
    }
    return taken.value
  }
}

/** The numbers of all queues, of those that have just gone no more. */
function measureAll(
  metric: Named & Pick<Measured, 'kind'>,
  registry: Registry,
  watched: Watched[],
  read: (one: Watched) => number | readonly Reading[],
): void {
  measure(registry, metric, () => {
    // No listener of `crashed`: a queue without one ends the process when it fails.
    for (const one of watched.filter(({ queue, endsWithQueue }) => endsWithQueue && queue.isCrashed))
      remove(one, watched, registry)
    return watched.flatMap((one) => {
      const value = read(one)
      const all = typeof value === 'number' ? [{ labels: {}, value }] : value
      return all.map((reading) => ({ labels: { ...one.labels, ...reading.labels }, value: reading.value }))
    })
  })
}

/** A scrape does not wait for the disk: it shows the answer to the scrape before, and asks again.
 * Without an answer the metric is absent. */
function roomOf(queue: Pick<Queue, 'room' | 'isCrashed'>): () => Room | undefined {
  const reading = new RoomReading(queue)
  const known = oncePerScrape(() => {
    const { last } = reading
    return !queue.isCrashed && reading.ask() ? last : undefined
  })
  if (!queue.isCrashed) reading.ask()
  return known
}

function count(queue: WatchedQueue, ofQueue: Labels, metric: Counted, registry: Registry): void {
  const { name, event, labels, amount, known = [] } = metric
  const counter = registry.getSingleMetric(name) as Counter
  if (metric.labelNames === undefined) counter.inc(ofQueue, 0)
  for (const value of known) counter.inc({ ...ofQueue, ...value }, 0)
  queue.on(event, (happened) =>
    counter.inc({ ...ofQueue, ...labels?.(happened as never) }, amount?.(happened as never) ?? 1),
  )
}
