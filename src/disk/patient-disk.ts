/** A disk whose calls wait for a free descriptor.
 * Invariant: only a call that found no descriptor is made again, because it has done nothing
 * (disk.ts, 5). All other errors reject at once: a failed sync is never repeated.
 * Why: descriptors are mostly free again when a client leaves, and ending the life would end all
 * clients. After a while it ends all the same: that frees all descriptors of the process. */
import { pause, type Clock } from '../base/clock.js'
import type { WaybillError } from '../errors.js'
import type { Disk } from './disk.js'
import { isOutOfDescriptors } from './failure.js'
import { forwarded } from './forwarded-disk.js'

const patienceMs = 60_000
const againMs = 100

/** @param onWait called about once a minute while calls wait */
export function patientDisk(disk: Disk, clock: Clock, onWait: (error: WaybillError) => void): Disk {
  let toldAtMs = -Infinity
  const tell = (error: WaybillError): void => {
    if (clock.monotonicMs() - toldAtMs < patienceMs) return
    toldAtMs = clock.monotonicMs()
    onWait(error)
  }
  const patiently = async <T>(call: () => Promise<T>): Promise<T> => {
    for (let endMs: number | undefined; ;)
      try {
        return await call()
      } catch (error) {
        endMs ??= clock.monotonicMs() + patienceMs
        if (!isOutOfDescriptors(error) || clock.monotonicMs() >= endMs) throw error
        tell(error)
        await pause(clock, againMs, undefined)
      }
  }
  return {
    ...forwarded(disk),
    list: (directory) => patiently(() => disk.list(directory)),
    open: (path, mode) => patiently(() => disk.open(path, mode)),
    syncDirectory: (path) => patiently(() => disk.syncDirectory(path)),
  }
}
