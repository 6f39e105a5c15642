/** Creates a directory and those above it.
 * Invariant: the error is the system's. Node's `recursive` says ENOENT for a read-only file system,
 * and never ends below /proc. */
import { chmod, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errnoOf } from './failure.js'

/** A name that exists already is left as it is.
 * @param mode of all directories made, whatever the umask is
 * @throws the system's error */
export async function madeDirectory(path: string, mode: number = 0o755): Promise<void> {
  try {
    await make(path, mode)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'EEXIST') return
    if (errno !== 'ENOENT' || dirname(path) === path) throw error
    await madeDirectory(dirname(path), mode)
    await make(path, mode).catch((second: unknown) => {
      if (errnoOf(second) !== 'EEXIST') throw second
    })
  }
}

async function make(path: string, mode: number): Promise<void> {
  await mkdir(path, mode)
  await chmod(path, mode)
}
