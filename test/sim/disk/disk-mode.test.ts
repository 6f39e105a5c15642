/** Disks that hang, and disks of other kinds than a file system. */
import { expect, test } from 'vitest'
import type { CrashState } from '../../../src/sim/disk/crash-states.js'
import { SimDisk } from '../../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../../src/sim/world/world.js'
import { contentOf, write } from '../../disk/fixture.js'
import { fates, live, sector } from '../fixture.js'

test('what a store has answered is durable without a sync, names too', async () => {
  const { disk } = await live(
    async (on) => {
      await on.makeDirectory('d')
      await write(on, 'd/a', sector('a'))
      await on.rename('d/a', 'd/b')
    },
    { mode: 'store' },
  )
  const images = Array.from(disk.crashStates(), ({ image }) => image)
  expect(fates(images, 'd/b')).toEqual([sector('a').toString()])
  expect(fates(images, 'd/a')).toEqual(['gone'])
})

test('a call that is under way in a store has happened as a whole or not at all, whatever stops it', async () => {
  const long = Buffer.concat([sector('x'), sector('y'), sector('z')])
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  const left: CrashState[] = []
  const disk: SimDisk = new SimDisk(world, {
    mode: 'store',
    observer: {
      before: ({ operation }) => {
        if (operation.kind === 'write' && operation.bytes.length === long.length)
          left.push(...disk.crashStates(), ...disk.killStates())
      },
    },
  })
  const work = async (): Promise<void> => {
    await write(disk, 'a', sector('a'))
    const file = await disk.open('a', 'write')
    await file.write(long, 0)
  }
  await world.settle(work())
  const images = left.map(({ image }) => image)
  expect(fates(images, 'a')).toEqual([sector('a').toString(), long.toString()])
})

test('while a disk hangs, nothing becomes durable, and all else is answered', async () => {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  const disk = new SimDisk(world)
  let answeredAtMs = -1
  const work = async (): Promise<void> => {
    await write(disk, 'a', sector('a'))
    const file = await disk.open('a', 'synced')
    disk.hang(5000)
    const written = file.write(sector('b'), 512).then(() => (answeredAtMs = world.nowMs))
    expect((await contentOf(disk, 'a')).toString()).toBe(sector('a').toString())
    expect(answeredAtMs).toBe(-1)
    await new Promise<void>((resolve) => world.clock.after(3000, resolve))
    expect(disk.syncedWriteMs).toBe(3000)
    await written
    expect(disk.syncedWriteMs).toBe(0)
  }
  await world.settle(work())
  expect(answeredAtMs).toBe(5000)
})
