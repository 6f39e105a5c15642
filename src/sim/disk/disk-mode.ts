/** Kinds of simulated disks: a file system, and others that the engine supports.
 * Invariant: an atomic disk tears nothing and forgets nothing. Each call happens as a whole or not
 * at all, and what has happened is durable, as in a store that commits each call. */
import { fileSystemTraits, type DiskTraits } from '../../disk/disk.js'
import { SimDirectory } from './sim-directory.js'
import type { DiskImage } from './disk-image.js'
import type { ChangingOperation } from './operation.js'

export interface DiskMode extends DiskTraits {
  readonly isAtomic: boolean
}

/** `fresh segments`: neither filled ahead nor used again. */
export type DiskModeName = 'file system' | 'fresh segments' | 'store'

export const diskModes: Readonly<Record<DiskModeName, DiskMode>> = {
  'file system': { ...fileSystemTraits, isAtomic: false },
  'fresh segments': { fillsAhead: false, reuses: false, isAtomic: false },
  store: { fillsAhead: false, reuses: false, isAtomic: true },
}

/** What a call has changed is durable now. */
export function makeDurable(image: DiskImage, operation: ChangingOperation): void {
  if ('file' in operation) {
    operation.file.sync(image.seq)
    return
  }
  syncParent(image, operation.path)
  if ('to' in operation) syncParent(image, operation.to)
}

function syncParent(image: DiskImage, path: string): void {
  const parent = image.find(path.slice(0, Math.max(0, path.lastIndexOf('/'))))
  if (parent instanceof SimDirectory) parent.sync(image.seq)
}
