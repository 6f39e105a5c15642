/** Opens a queue that lies in a store, by its URL. Loaded when a URL is given, and so is `pg`. */
import type { StoreDisk } from '../store/store-disk.js'
import type { StoreDiskRequest } from '../store/open-store.js'
import type { StoreEvent } from '../store/statistics.js'
import type { QueueOptions } from './life/options.js'
import { openEngine, type OpenedEngine } from './open.js'

/** @throws as openQueue; WaybillError STORE_UNREACHABLE, STORE_UNSAFE */
export async function openInStore(url: string, options: QueueOptions): Promise<OpenedEngine> {
  let tell: ((event: StoreEvent) => void) | undefined
  const { clock } = options
  const disk = await loadStoreDisk({
    url,
    ...(clock === undefined ? undefined : { clock }),
    onEvent: (event) => tell?.(event),
  })
  const opened = await openEngine(disk.name, { ...options, disk })
  tell = ({ kind, ...event }) => {
    if (kind !== 'safety') return
    const { reasons } = event as Extract<StoreEvent, { kind: 'safety' }>
    const message = reasons.length === 0 ? 'the store is safe again' : reasons.join('; ')
    opened.parts.events.emit('warning', { code: 'STORE_UNSAFE', message })
  }
  return opened
}

/** A queue's disk in a store.
 * @throws WaybillError OPTION_INVALID, also when `pg` is not installed */
export async function loadStoreDisk(request: StoreDiskRequest): Promise<StoreDisk> {
  return (await loadStore()).storeDisk(request)
}

/** Loads the modules of stores. @throws WaybillError OPTION_INVALID when `pg` is not installed */
export async function loadStore(): Promise<typeof import('../store/open-store.js')> {
  const store = await import('../store/open-store.js')
  await store.loadPg()
  return store
}
