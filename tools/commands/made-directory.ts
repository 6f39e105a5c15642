/** A directory that is there, with those above it.
 * Invariant: the error is the system's own. Node's `recursive` says ENOENT of a file system that is read-only, and below /proc it never ends. */
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Whatever else stands there is left, for who opens it. @throws the system's error */
export async function madeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || dirname(path) === path) throw error
    await madeDirectory(dirname(path))
    await mkdir(path).catch((second: NodeJS.ErrnoException) => {
      if (second.code !== 'EEXIST') throw second
    })
  }
}
