/** A disk whose calls wait for a free descriptor.
 * Invariant: only a call that found none is made again, because it has done nothing (disk.ts, 5). What fails otherwise is told at once: a
 * sync of a directory whose descriptor was there has failed, and is never repeated.
 * Who has too many files open mostly has fewer in a moment, when a client goes; the end of the life would cost all of them. One that
 * lasts is better ended after a while: that gives all descriptors of the process back. */
import { pause, type Clock } from '../base/clock.js'
import type { WaybillError } from '../errors.js'
import type { Disk } from './disk.js'
import { isOutOfDescriptors } from './failure.js'
import { forwarded } from './forwarded-disk.js'

const patienceMs = 60_000
const againMs = 100

/** @param onWait told about once a minute while calls wait */
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
