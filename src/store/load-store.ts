/** Loads the modules of stores, and `pg`, when the first store is named. */
import type { StoreDiskRequest } from './open-store.js'
import type { StoreDisk } from './store-disk.js'

/** A queue's disk in a store.
 * @throws WaybillError OPTION_INVALID, also when `pg` is not installed */
export async function loadStoreDisk(request: StoreDiskRequest): Promise<StoreDisk> {
  return (await loadStore()).storeDisk(request)
}

/** @throws WaybillError OPTION_INVALID when `pg` is not installed */
export async function loadStore(): Promise<typeof import('./open-store.js')> {
  const store = await import('./open-store.js')
  await store.loadPg()
  return store
}
