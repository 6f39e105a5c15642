/** A file that is zero-filled once and then overwritten with synced writes: the best rate of a disk
 * without changes of metadata. */
import fs from 'node:fs'
import { promisify } from 'node:util'

const chunkBytes = 1024 * 1024
export const blockBytes = 4096

export const roundUp = (bytes: number): number => Math.ceil(bytes / blockBytes) * blockBytes

/** @returns a descriptor whose writes are synced (O_DSYNC) */
export async function zeroedFile(path: string, fileBytes: number): Promise<number> {
  const { O_CREAT, O_EXCL, O_WRONLY, O_DSYNC } = fs.constants
  const filled = fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
  const zeroes = Buffer.alloc(chunkBytes)
  for (let at = 0; at < fileBytes; at += chunkBytes) fs.writeSync(filled, zeroes, 0, chunkBytes, at)
  await promisify(fs.fsync)(filled)
  fs.closeSync(filled)
  return fs.openSync(path, O_WRONLY | O_DSYNC)
}
