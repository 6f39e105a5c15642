/** A disk for reading only.
 * Invariant: its user takes no lock, makes no name and writes no byte; an attempt is a bug of ours
 * and stops the command. */
import { assert } from '../../base/assert.js'
import type { Disk } from '../../disk/disk.js'

const refuse = (verb: string) => (): Promise<never> =>
  Promise.reject(new Error(`an inspection never calls ${verb}`))

export const readOnly = (disk: Disk): Disk => ({
  list: (directory) => disk.list(directory),
  open: (path, mode) => {
    assert(mode === 'read', 'an inspection opens files for reading only')
    return disk.open(path, 'read')
  },
  stat: (path) => disk.stat(path),
  space: () => disk.space(),
  abandon: () => disk.abandon(),
  makeDirectory: refuse('makeDirectory'),
  removeDirectory: refuse('removeDirectory'),
  rename: refuse('rename'),
  unlink: refuse('unlink'),
  syncDirectory: refuse('syncDirectory'),
  lock: refuse('lock'),
})
