/** A disk that forwards every call to another one: the base of disks that change a few calls. */
import type { Disk } from './disk.js'

export const forwarded = (disk: Disk): Disk => ({
  ...(disk.traits === undefined ? undefined : { traits: disk.traits }),
  list: (directory) => disk.list(directory),
  makeDirectory: (path) => disk.makeDirectory(path),
  removeDirectory: (path) => disk.removeDirectory(path),
  open: (path, mode) => disk.open(path, mode),
  rename: (from, to) => disk.rename(from, to),
  unlink: (path) => disk.unlink(path),
  syncDirectory: (path) => disk.syncDirectory(path),
  stat: (path) => disk.stat(path),
  space: () => disk.space(),
  lock: (path, onLost) => disk.lock(path, onLost),
  abandon: () => disk.abandon(),
})
