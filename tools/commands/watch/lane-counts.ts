/** Counts the messages that wait in each lane.
 * The relay does not have waiting messages in memory, so the lanes are read beside it, again and
 * again.
 * Invariant: reading takes at most one twentieth of the time, and never writes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isWaybillError } from '../../../src/errors.js'
import { Messages } from '../../../src/inspect/messages/messages.js'
import type { MetMessage } from '../../../src/inspect/messages/queued-message.js'
import { QueueDirectory } from '../../../src/inspect/queue/queue-directory.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import type { Surroundings } from '../text/output.js'

export interface LaneCount {
  count: number
  dataBytes: number
}

export interface LaneCounts {
  /** Wall time, milliseconds. */
  readonly atMs: number
  readonly byLane: ReadonlyMap<number, LaneCount>
}

const pauseMsMin = 5000
const pauseFactor = 20

export class LaneCounter {
  /** undefined until the lanes have been read once. */
  latest: LaneCounts | undefined

  /** Counts until the signal is aborted. */
  async run(
    path: string,
    surroundings: Pick<Surroundings, 'openDisk' | 'nowMs'>,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      const startedAt = performance.now()
      await this.#count(path, surroundings, signal)
      const pauseMs = Math.max(pauseMsMin, pauseFactor * (performance.now() - startedAt))
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #count(
    path: string,
    { openDisk, nowMs }: Pick<Surroundings, 'openDisk' | 'nowMs'>,
    signal: AbortSignal,
  ): Promise<void> {
    const disk = openDisk(path)
    try {
      const directory = await QueueDirectory.open(disk, () => undefined)
      if (directory === undefined) return
      const messages = new Messages(directory, await takeSnapshot(directory), { report: () => undefined })
      const byLane = new Map<number, LaneCount>()
      const count = ({ where, lane, envelope, active }: MetMessage): boolean => {
        if (where === 'active') return false
        // While a replacement is not trusted yet, the lane is the old one.
        const number = active?.replacement?.lane ?? lane
        const { dataBytes } = envelope
        const known = byLane.get(number) ?? { count: 0, dataBytes: 0 }
        known.count++
        known.dataBytes += dataBytes
        byLane.set(number, known)
        return false
      }
      for await (const _ of messages.batches(count)) if (signal.aborted) return
      this.latest = { atMs: nowMs(), byLane }
    } catch (error) {
      // A directory that is being changed, or is damaged, is not counted; other commands report
      // damage.
      if (!isWaybillError(error)) throw error
    } finally {
      disk.abandon()
    }
  }
}
