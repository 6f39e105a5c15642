/** Memory that made objects do not release. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
export const collectGarbage = runInNewContext('gc') as () => void

/** @returns bytes of the heap */
export function heldBytes(make: () => readonly object[]): number {
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const made = make()
  collectGarbage()
  const bytes = process.memoryUsage().heapUsed - before
  if (made.length === 0) throw new Error('nothing was made')
  return bytes
}
