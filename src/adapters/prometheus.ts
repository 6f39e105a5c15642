/** `waybill/prometheus`: a queue in a registry of prom-client. metrics.ts and event-metrics.ts say what there is.
 * Invariant: a scrape takes one snapshot, and all of its numbers are of it; within one life no counter goes down. A life ends with the
 * process or the queue, and the next one counts from 0, as Prometheus expects of a restart. */
import { Counter, Gauge, Registry } from 'prom-client'
import type { Room } from '../engine/accept/space-watch.js'
import type { QueueStatistics } from '../admin/select/statistics.js'
import { isWaybillError, WaybillError } from '../errors.js'
import type { Queue } from '../queue.js'
import { countedByEvents, notedByEvents, type Counted } from './event-metrics.js'
import { asked, measured, type Measured, type Named, type Reading } from './metrics.js'

/** Of the queue's life. */
export const upMetric: Named = {
  name: 'waybill_up',
  help: '1 while the queue lives, 0 when it has crashed.',
}

export type WatchedQueue = Pick<Queue, 'stats' | 'room' | 'isCrashed' | 'on'>

/** Whose numbers a registry has. */
const watched = new WeakMap<Registry, WatchedQueue>()

/** Registers the metrics of an open queue. What is counted by events is counted from here on: call it in the turn in which `openQueue`
 * has settled, and nothing is missed. A registry has one queue at a time; after its crash, the queue that is opened next takes its place.
 * @param registry the embedder's own, or a new one
 * @returns the registry, for `metrics()` and `contentType`
 * @throws WaybillError OPTION_INVALID when the registry has a queue that lives, or a metric of one of these names */
export function prometheus(queue: WatchedQueue, registry: Registry = new Registry()): Registry {
  release(registry)
  for (const name of names)
    if (registry.getSingleMetric(name) !== undefined)
      throw new WaybillError('OPTION_INVALID', `the registry has a metric ${name} already`, {
        option: 'registry',
      })
  watched.set(registry, queue)
  const registers = [registry]
  const statistics = oncePerScrape(() => queue.stats())
  void new Gauge({
    registers,
    ...upMetric,
    collect() {
      this.set(queue.isCrashed ? 0 : 1)
    },
  })
  for (const metric of measured) measure(metric, statistics, registers)
  registerRoom(queue, registers)
  for (const metric of countedByEvents) count(queue, metric, registry)
  for (const { name, help, event, read } of notedByEvents) {
    const gauge = new Gauge({ registers, name, help })
    gauge.remove()
    queue.on(event, (happened) => gauge.set(read(happened)))
  }
  return registry
}

const names: readonly string[] = [
  upMetric.name,
  ...[...measured, ...asked, ...countedByEvents, ...notedByEvents].map(({ name }) => name),
]

function release(registry: Registry): void {
  const before = watched.get(registry)
  if (before === undefined) return
  if (!before.isCrashed)
    throw new WaybillError('OPTION_INVALID', 'the registry has the metrics of another queue that lives', {
      option: 'registry',
    })
  for (const name of names) registry.removeSingleMetric(name)
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

function measure(
  { kind, name, help, labelNames = [], read }: Measured,
  statistics: () => QueueStatistics,
  registers: Registry[],
): void {
  const readings = (): readonly Reading[] => {
    const value = read(statistics())
    return typeof value === 'number' ? [{ labels: {}, value }] : value
  }
  const about = { registers, name, help, labelNames }
  // Set anew at each scrape, so that a lane that is gone is not told of.
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

/** A scrape does not wait for the disk: it tells what the scrape before has asked for, and asks anew. Absent is what has no answer. */
function registerRoom(queue: Pick<Queue, 'room' | 'isCrashed'>, registers: Registry[]): void {
  let room: Room | undefined
  let isAsking = false
  const ask = (): void => {
    if (isAsking || queue.isCrashed) return
    isAsking = true
    const answered = (answer: Room | undefined): void => {
      isAsking = false
      room = answer
    }
    queue.room().then(answered, (error: unknown) => {
      answered(undefined)
      if (!isWaybillError(error)) throw error
    })
  }
  const known = oncePerScrape(() => {
    const answer = isAsking || queue.isCrashed ? undefined : room
    ask()
    return answer
  })
  ask()
  for (const { name, help, read } of asked)
    void new Gauge({
      registers,
      name,
      help,
      collect() {
        const answer = known()
        if (answer === undefined) this.remove()
        else this.set(read(answer))
      },
    })
}

function count(queue: WatchedQueue, metric: Counted, registry: Registry): void {
  const { name, help, labelNames = [], event, labels, amount, known = [] } = metric
  // Three events may grow one counter.
  const counter =
    (registry.getSingleMetric(name) as Counter | undefined) ??
    new Counter({ registers: [registry], name, help, labelNames })
  for (const value of known) counter.inc(value, 0)
  queue.on(event, (happened) =>
    counter.inc(labels?.(happened as never) ?? {}, amount?.(happened as never) ?? 1),
  )
}
