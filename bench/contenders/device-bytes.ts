/** Bytes written to the disk below a directory, as the kernel counts them for the whole device.
 * They include writes of the file system and of others.
 * Why not /proc/PID/io: it counts dirty pages by the size of the page cache's folios. */
import { readFile, stat } from 'node:fs/promises'

const sectorBytes = 512

/** Since the system was started; 0 if the kernel does not know. */
export async function deviceBytes(directory: string): Promise<number> {
  return (await deviceWork(directory)).writtenBytes
}

/** The same, and in how many requests: of a disk that has to seek, what each costs. */
export async function deviceWork(
  directory: string,
): Promise<{ readonly writtenBytes: number; readonly writeCount: number }> {
  const { dev } = await stat(directory)
  const major = (dev >> 8) & 0xfff
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00)
  const text = await readFile(`/sys/dev/block/${major}:${minor}/stat`, 'latin1').catch(() => '')
  const fields = text.trim().split(/\s+/).map(Number)
  return { writtenBytes: (fields[6] ?? 0) * sectorBytes, writeCount: fields[4] ?? 0 }
}
