/** Bytes written to the disk below a directory, as the kernel counts them for the whole device.
 * They include writes of the file system and of others.
 * Why not /proc/PID/io: it counts dirty pages by the size of the page cache's folios. */
import { readFile, stat } from 'node:fs/promises'

const sectorBytes = 512

/** Since the system was started; 0 if the kernel does not know. */
export async function deviceBytes(directory: string): Promise<number> {
  const { dev } = await stat(directory)
  const major = (dev >> 8) & 0xfff
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00)
  const text = await readFile(`/sys/dev/block/${major}:${minor}/stat`, 'latin1').catch(() => '')
  const sectorsWritten = Number(text.trim().split(/\s+/)[6] ?? 0)
  return sectorsWritten * sectorBytes
}
