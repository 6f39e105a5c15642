/** The home of a relay's queue: a directory, or a store.
 * Invariant: only a queue in a directory has sockets and a maildrop beside it; a store
 * carries calls instead of the control socket. */
import { basename, resolve } from 'node:path'
import type { Logger } from 'pino'
import { systemClock } from '../../../src/base/clock.js'
import { serveStoreControl } from '../../../src/control/store-server.js'
import {
  openQueue,
  serveControl,
  type ControlOptions,
  type Queue,
  type OpenOptions,
} from '../../../src/index.js'
import type { Figures } from '../../../src/http/figures/figures.js'
import type { QueuePlace } from '../../../src/http/figures/queues.js'
import type { StoreEvent } from '../../../src/store/statistics.js'
import type { StoreDisk } from '../../../src/store/store-disk.js'
import type { RelayDoor } from '../door/door.js'
import { Retirement } from '../door/retirement.js'
import { logEvents } from '../log/log.js'
import type { Adoption } from '../store/adoption.js'
import type { RelayMetrics } from './metrics.js'
import { withParameters } from '../cli/store-parameters.js'
import { parseYes } from '../cli/values.js'
import { loadStorePlace } from '../cli/queue-disk.js'
import { queuePathOf } from '../cli/queue-path.js'
import { UsageError, type Arguments, type Option } from '../cli/command.js'
import { hasPassword, shownQueue } from '../cli/shown-queue.js'
import { isStoreUrl } from '../../../src/store/is-store-url.js'
import { loadStore, loadStoreDisk } from '../../../src/store/load-store.js'

export const storeOptions: Readonly<Record<string, Option>> = {
  store: {
    value: 'URL',
    help: "a queue in PostgreSQL, replicated, instead of a directory: postgres://USER@HOST,HOST/DATABASE; then --queue is\nits name; the password is in PGPASSFILE's file, never here (a directory)",
  },
  node: {
    value: 'NAME',
    help: "with --store: what this node is called (the queue's name); another process of this name takes the queue\nonly when this one is gone",
  },
  adopt: {
    value: 'yes|no',
    help: 'with --store: deliver the mail of nodes that are gone, until they are back (yes)',
  },
}

export interface QueueHome {
  /** For `openQueue`. */
  readonly place: string
  /** Without a password, for people. */
  readonly shown: string
  /** Undefined: it is in a store. */
  readonly directory: string | undefined
}

/** @throws UsageError, WaybillError OPTION_INVALID */
export async function queueHomeOf(args: Arguments): Promise<QueueHome> {
  const place = placeOf(args)
  if (!isStoreUrl(place)) return { place, shown: place, directory: place }
  if (hasPassword(args.one('queue') ?? ''))
    throw new UsageError('--queue takes no password: others read command lines; use PGPASSFILE')
  // Errors in it are reported before anything is made.
  const { queue } = await loadStorePlace(place)
  if (queue === undefined) throw new UsageError('--store needs --queue NAME, the name of a queue')
  return { place, shown: shownQueue(place), directory: undefined }
}

/** @throws UsageError */
function placeOf(args: Arguments): string {
  const store = args.one('store')
  if (store === undefined) {
    if (args.isSet('node')) throw new UsageError('--node needs --store')
    return queuePathOf(args)
  }
  if (!isStoreUrl(store)) throw new UsageError('--store takes postgres://USER@HOST/DATABASE')
  if (hasPassword(store))
    throw new UsageError('--store takes no password: others read command lines; use PGPASSFILE')
  return withParameters(store, { queue: args.one('queue'), node: args.one('node') })
}

/** A look at a store for readers of the API: an owner beats in less. */
const betweenMs = 2000

/** For lists of queues. The store is asked when somebody asks for one. */
export async function queuePlaceOf({ place, directory }: QueueHome): Promise<QueuePlace> {
  if (directory !== undefined) return { name: basename(resolve(directory)) }
  const { queue = '' } = await loadStorePlace(place)
  const { pgStore, StoreObserver } = await loadStore()
  const observer = new StoreObserver(pgStore(place), systemClock, betweenMs)
  return { name: queue, status: () => observer.status() }
}

export interface OpenedHome {
  readonly queue: Queue
  /** Undefined: it is in a directory. */
  readonly store: StoreDisk | undefined
}

/** @throws as openQueue */
export async function openHome(
  { place, directory }: QueueHome,
  options: OpenOptions,
  log: Logger,
): Promise<OpenedHome> {
  if (directory !== undefined) return { queue: await openQueue(directory, options), store: undefined }
  const store = await loadStoreDisk({ url: place, onEvent: (event) => logStore(event, log) })
  return { queue: await openQueue(place, { ...options, disk: store }), store }
}

function logStore(event: StoreEvent, log: Logger): void {
  switch (event.kind) {
    case 'interrupted':
      return log.warn({ reason: event.reason }, 'the store does not answer: mail and deliveries wait')
    case 'resumed':
      return log.info({ epoch: event.epoch }, 'the store answers again')
    case 'safety':
      if (event.reasons.length === 0) return log.info('what the store commits is on two machines again')
      return log.warn(
        { code: 'STORE_UNSAFE', reasons: event.reasons },
        'what the store commits may be on one machine only: no mail is taken',
      )
    case 'unreaped':
      return log.warn({ err: event.error }, 'the store keeps what was removed; it is tried again')
  }
}

/** Lets commands operate the queue: over a socket in its directory, or over the store.
 * Without that, mail is delivered as ever: a file system that has no sockets is no reason to
 * stop. */
export async function serveControlAt(
  { directory }: QueueHome,
  { queue, store }: OpenedHome,
  options: ControlOptions,
  log: Logger,
): Promise<void> {
  if (directory === undefined) return store && controlInStore(queue, store, options)
  await serveControl(queue, directory, options).catch((error: unknown) =>
    log.warn({ err: error }, 'there is no control socket'),
  )
}

/** Calls end with the queue. */
function controlInStore(queue: Queue, disk: StoreDisk, options: ControlOptions): void {
  const { calls } = disk
  if (calls === undefined) return
  const server = serveStoreControl(queue, calls, () => disk.life, options)
  queue.on('crashed', () => server.close())
}

export interface Adopting {
  readonly options: OpenOptions
  readonly control: ControlOptions
  readonly log: Logger
  /** Of an adopted queue, for its problems. */
  readonly figuresOf: (queue: Queue) => Figures
  readonly metrics: RelayMetrics | undefined
  /** Of mail that operators give to an adopted queue. */
  readonly entryOf: (queue: Queue, log: Logger) => RelayDoor
}

/** Delivers for nodes that are gone. @returns undefined without a store, or with --adopt no */
export async function adoptionOf(
  args: Arguments,
  { place, directory }: QueueHome,
  { options, control, log, figuresOf, metrics, entryOf }: Adopting,
): Promise<Adoption | undefined> {
  if (directory !== undefined || !parseYes('adopt', args.one('adopt') ?? 'yes')) return undefined
  const { Adoption } = await import('../store/adoption.js')
  const { queue = '', node = queue, ttlMs } = await loadStorePlace(place)
  const onAdopted = (adopted: Queue, disk: StoreDisk, name: string): void => {
    const own = log.child({ adopted: name })
    metrics?.adopted(name, adopted, disk)
    logEvents(adopted, own)
    const figures = figuresOf(adopted)
    adopted.on('crashed', () => void figures.end())
    const ownControl = { ...control, problems: () => figures.problems() }
    controlInStore(adopted, disk, new Retirement(own).control(ownControl, entryOf(adopted, own)))
  }
  const adoption = new Adoption({ url: place, queue, node, ttlMs, options, log, onAdopted })
  void adoption.run().catch((error: unknown) => log.error({ err: error }, 'no queue is adopted'))
  return adoption
}
