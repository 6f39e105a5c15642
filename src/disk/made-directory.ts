/** A directory that is there, with those above it.
 * Invariant: the error is the system's own. Node's `recursive` says ENOENT of a file system that is read-only, and below /proc it never ends. */
import { chmod, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errnoOf } from './failure.js'

/** Whatever else stands there is left, for who opens it.
 * @param mode of all that are made, whatever the umask takes away or leaves
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
