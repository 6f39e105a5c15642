/** The door of this room: a store from its URL. Loaded when a URL is given, for it loads `pg`. */
import { systemClock, type Clock } from '../base/clock.js'
import { WaybillError } from '../errors.js'
import { PgStore } from './postgres/pg-store.js'
import { StoreDisk, type StoreDiskOptions } from './store-disk.js'
import { storePlaceOf } from './store-url.js'

export interface StoreDiskRequest extends Partial<
  Pick<StoreDiskOptions, 'role' | 'ownedCount' | 'onEvent' | 'prng'>
> {
  /** `postgres://USER@HOST,HOST/DATABASE?queue=NAME`, and perhaps `node`, `ttl`, `safety`. */
  readonly url: string
  readonly clock?: Clock
}

/** A queue in a store, as a disk for `openQueue`. Nothing is asked until the first call.
 * @throws WaybillError OPTION_INVALID */
export function storeDisk({ url, clock = systemClock, ...options }: StoreDiskRequest): StoreDisk {
  const place = storePlaceOf(url)
  const { queue } = place
  if (queue === undefined)
    throw new WaybillError('OPTION_INVALID', 'the URL of a store names a queue: ?queue=NAME', {
      option: 'queue',
    })
  const { node = queue, safety, ttlMs, resumeMs } = place
  const store = new PgStore(place, clock)
  return new StoreDisk({ role: 'home', ...options, store, queue, node, safety, ttlMs, resumeMs, clock })
}

/** A store, for commands about all of it. @throws WaybillError OPTION_INVALID */
export const pgStore = (url: string, clock: Clock = systemClock): PgStore =>
  new PgStore(storePlaceOf(url), clock)

export { initStore } from './postgres/init-store.js'
export { loadPg } from './postgres/pg-package.js'
export { serverStatus, type ServerStatus } from './postgres/server-status.js'
export { removeQueue } from './postgres/remove-queue.js'
export { storePlaceOf } from './store-url.js'
export { storeStatus, StoreObserver } from './store-status.js'
