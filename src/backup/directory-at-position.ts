/** A queue's directory as it was when its journal ended at a position.
 * Invariant: of the journal nothing is seen behind that end, whatever is written meanwhile. All
 * else is as it is now: what the journal does not name there is not read. */
import { nowhere, position, type Position } from '../base/position.js'
import { journalDirectory } from '../log/journal.js'
import { SegmentGrid, segmentIndexOf, segmentName } from '../log/segment.js'
import type { Disk, DiskFile } from '../disk/disk.js'
import { forwarded } from '../disk/forwarded-disk.js'

/** @param end of a batch that is durable; `nowhere`: nothing was ever accepted */
export function frozenAt(disk: Disk, segmentBytes: number, end: Position): Disk {
  if (end === nowhere)
    return {
      ...forwarded(disk),
      list: async (directory) => (directory === journalDirectory ? [] : disk.list(directory)),
    }
  const grid = new SegmentGrid(segmentBytes)
  // An end on the border of two segments is that of the first.
  const last = grid.indexOf(position(end - 1))
  const lastBytes = end - grid.at(last, 0)
  return {
    ...forwarded(disk),
    list: async (directory) => {
      const names = await disk.list(directory)
      return directory === journalDirectory ? names.filter((name) => isBefore(name, last)) : names
    },
    open: async (path, mode) => {
      const file = await disk.open(path, mode)
      return path === `${journalDirectory}/${segmentName(last)}` ? cut(file, lastBytes) : file
    },
  }
}

const isBefore = (name: string, last: number): boolean => {
  const index = segmentIndexOf(name)
  return index !== undefined && index <= last
}

const cut = (file: DiskFile, lengthBytes: number): DiskFile => ({
  read: (into, at) => file.read(into.subarray(0, Math.max(0, Math.min(into.length, lengthBytes - at))), at),
  write: (bytes, at) => file.write(bytes, at),
  sync: () => file.sync(),
  truncate: (bytes) => file.truncate(bytes),
  size: async () => Math.min(await file.size(), lengthBytes),
  close: () => file.close(),
})
