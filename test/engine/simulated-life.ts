/** One life of a queue on a simulated disk with small segments, seen before each call of the
 * disk. */
import { seededPrng } from '../../src/base/prng.js'
import { openQueue, type OpenOptions, type Queue } from '../../src/queue.js'
import type { DiskImage } from '../../src/sim/disk/disk-image.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import type { SimWorld } from '../../src/sim/world/world.js'
import './loaded-beforehand.js'

export interface SimulatedLife {
  readonly world: SimWorld
  readonly seed: number
  /** What the life begins on; undefined: an empty disk. */
  readonly image: DiskImage | undefined
  /** Is called before each call of the disk. */
  readonly before: (disk: SimDisk) => void
  /** All mail goes to the transport `out`. */
  readonly options: Pick<OpenOptions, 'retry' | 'transports' | 'history'>
}

/** Opens a queue, and crashes it when `body` has ended.
 * @param eventsMax events of the world, so that a life that does not end fails */
export async function simulatedLife(
  { world, seed, image, before, options }: SimulatedLife,
  body: (queue: Queue) => Promise<void>,
  eventsMax?: number,
): Promise<void> {
  const disk: SimDisk = new SimDisk(world, {
    observer: { before: () => before(disk) },
    ...(image === undefined ? undefined : { image }),
  })
  await world.settle(
    (async () => {
      const queue = await openQueue('queue', {
        disk,
        clock: world.clock,
        prng: seededPrng(seed + (image === undefined ? 0 : 1000)),
        segmentBytes: 16 * 4096,
        laneSegmentBytes: 8 * 4096,
        checkpointIntervalMs: 20,
        freeBytesMin: 0,
        route: () => ({ transport: 'out', nexthop: 'n' }),
        ...options,
      })
      queue.on('crashed', () => undefined)
      await body(queue)
      queue.crash()
    })(),
    ...(eventsMax === undefined ? [] : [{ eventsMax }]),
  )
}
