/** What was written to the disk below a directory, as the kernel counts it for the whole device: by us, by the file system for itself, and by
 * others meanwhile. A process's own count (/proc/PID/io) would be of pages that became dirty, by the size of the page cache's
 * folios, which says nothing about the disk. */
import { readFile, stat } from 'node:fs/promises'

const sectorBytes = 512

/** Since the system was started; 0 where the kernel does not say. */
export async function deviceBytes(directory: string): Promise<number> {
  const { dev } = await stat(directory)
  const major = (dev >> 8) & 0xfff
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00)
  const text = await readFile(`/sys/dev/block/${major}:${minor}/stat`, 'latin1').catch(() => '')
  const sectorsWritten = Number(text.trim().split(/\s+/)[6] ?? 0)
  return sectorsWritten * sectorBytes
}
