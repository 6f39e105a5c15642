/** Files below a directory, in the page cache or out of it. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { filesBelow } from '../files-below.js'

const execute = promisify(execFile)

/** Reads them. */
export const remembered = (directory: string): Promise<void> => dd(directory, 'bs=1M')

/** Out of the page cache: `dd` asks the kernel for it, file by file, and reads nothing.
 * Dirty pages stay. */
export const forgotten = (directory: string): Promise<void> => dd(directory, 'iflag=nocache', 'count=0')

async function dd(directory: string, ...operands: readonly string[]): Promise<void> {
  for (const path of filesBelow(directory))
    await execute('dd', [`if=${path}`, 'of=/dev/null', 'status=none', ...operands])
}
