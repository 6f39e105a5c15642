/** The disk of a queue, by its place: a directory, or the URL of a store.
 * Invariant: a store is loaded by the first call to it, so that commands on directories do not wait
 * for it to load. */
import type { Disk } from '../../../src/disk/disk.js'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import type { StorePlace } from '../../../src/store/store-url.js'
import { isStoreUrl } from '../../../src/store/is-store-url.js'
import { loadStoreDisk } from '../../../src/store/load-store.js'

export const openQueueDisk = (place: string): Disk => (isStoreUrl(place) ? laterDisk(place) : nodeDisk(place))

/** @throws WaybillError OPTION_INVALID */
export async function loadStorePlace(url: string): Promise<StorePlace> {
  return (await import('../../../src/store/store-url.js')).storePlaceOf(url)
}

function laterDisk(url: string): Disk {
  let loading: Promise<Disk> | undefined
  const loaded = (): Promise<Disk> => (loading ??= loadStoreDisk({ url, role: 'adopter' }))
  return {
    traits: { fillsAhead: false, reuses: false },
    list: async (directory) => (await loaded()).list(directory),
    makeDirectory: async (path) => (await loaded()).makeDirectory(path),
    removeDirectory: async (path) => (await loaded()).removeDirectory(path),
    open: async (path, mode) => (await loaded()).open(path, mode),
    rename: async (from, to) => (await loaded()).rename(from, to),
    unlink: async (path) => (await loaded()).unlink(path),
    syncDirectory: async (path) => (await loaded()).syncDirectory(path),
    stat: async (path) => (await loaded()).stat(path),
    space: async () => (await loaded()).space(),
    lock: async (path, onLost) => (await loaded()).lock(path, onLost),
    abandon: () =>
      void loading?.then(
        (disk) => disk.abandon(),
        () => undefined,
      ),
  }
}
