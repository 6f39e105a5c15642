/** A slower disk: a library, compiled here from slow-sync.c, in which every sync takes longer. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../machine.js'

/** @param directory where the library is built @returns the environment of a process on such a disk
 */
export function slowSync(directory: string, slowerMs: number): NodeJS.ProcessEnv {
  const library = join(directory, 'slow-sync.so')
  if (!existsSync(library))
    execFileSync('cc', [
      '-O2',
      '-shared',
      '-fPIC',
      '-o',
      library,
      join(packageRoot(), 'bench', 'disk', 'slow-sync.c'),
    ])
  return { LD_PRELOAD: library, SLOW_SYNC_US: String(slowerMs * 1000) }
}
