/** Opens a queue that lies in a store, by its URL. Loaded when a URL is given. */
import { loadStoreDisk } from '../store/load-store.js'
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
