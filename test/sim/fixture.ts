/** Verbs for tests of the simulated disk. */
import type { Disk } from '../../src/disk/disk.js'
import type { CrashOptions } from '../../src/sim/disk/crash-states.js'
import type { DiskImage } from '../../src/sim/disk/disk-image.js'
import { SimDisk, type SimDiskOptions } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'

export interface Lived {
  readonly world: SimWorld
  readonly disk: SimDisk
}

/** A life that does `body`, to its end, on a world where calls take effect in order. */
export async function live(
  body: (disk: Disk, lived: Lived) => Promise<void>,
  options: SimDiskOptions = {},
  seed?: number,
): Promise<Lived> {
  const world = new SimWorld(seed === undefined ? { seed: 0, order: 'fifo' } : { seed })
  const lived = { world, disk: new SimDisk(world, options) }
  await world.settle(body(lived.disk, lived))
  return lived
}

/** A file of the device, name and content durable. */
export async function writeDurably(disk: Disk, path: string, bytes: Buffer): Promise<void> {
  const file = await disk.open(path, 'create')
  await file.write(bytes, 0)
  await file.sync()
  await file.close()
  await disk.syncDirectory(path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '')
}

/** Overwrites bytes and syncs only when asked. */
export async function overwrite(
  disk: Disk,
  path: string,
  bytes: Buffer,
  position = 0,
  sync = false,
): Promise<void> {
  const file = await disk.open(path, 'write')
  await file.write(bytes, position)
  if (sync) await file.sync()
  await file.close()
}

/** The images that a power loss may leave. */
export const afterPowerLoss = (disk: SimDisk, options: CrashOptions = {}): DiskImage[] =>
  Array.from(disk.crashStates({ garbage: 'none', ...options }), (state) => state.image)

/** What the images hold under a name, each once: its bytes in `latin1`, or `gone`. */
export const fates = (images: Iterable<DiskImage>, path: string): string[] =>
  Array.from(new Set(Array.from(images, (image) => fate(image, path)))).sort()

export const fate = (image: DiskImage, path: string): string =>
  image.find(path)?.kind === 'file' ? image.bytes(path).toString('latin1') : 'gone'

export const sector = (letter: string): Buffer => Buffer.alloc(512, letter)
