/** Files in memory, read only, for tests that look at one thousands of times: no world, no
 * faults. */
import type { Disk, DiskFile } from '../../src/disk/disk.js'

/** @param files by path */
export function memoryDisk(files: ReadonlyMap<string, Buffer>): Disk {
  const open = async (path: string): Promise<DiskFile> => {
    const bytes = files.get(path)!
    return {
      read: async (into, position) => readAt(bytes, into, position),
      size: async () => bytes.length,
      close: async () => undefined,
    } as Partial<DiskFile> as DiskFile
  }
  return { open } as Partial<Disk> as Disk
}

/** One file, as the scanner reads it. */
export const memoryFile = (bytes: Buffer): Pick<DiskFile, 'read'> => ({
  read: async (into, position) => readAt(bytes, into, position),
})

const readAt = (bytes: Buffer, into: Buffer, position: number): number =>
  bytes.copy(into, 0, Math.min(position, bytes.length), Math.min(position + into.length, bytes.length))
