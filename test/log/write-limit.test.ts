/** How far the journal may have been written, as a start believes it. */
import { expect, test } from 'vitest'
import type { Disk } from '../../src/disk/disk.js'
import { decodeLimitSlots, encodeLimitSlot, limitFileBytes } from '../../src/log/limit-slots.js'
import { segmentHeaderBytes } from '../../src/log/segment.js'
import { readLimits, WriteLimit } from '../../src/log/write-limit.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'

const segmentBytes = 64 * 1024 * 1024
const epoch = [7, 8] as const
const kibi = 1024

/** A limit on an empty disk, in a world whose time the test moves. */
async function onDisk(
  body: (limit: WriteLimit, disk: Disk, world: SimWorld) => Promise<void>,
): Promise<SimDisk> {
  const world = new SimWorld({ seed: 1, order: 'fifo' })
  const disk = new SimDisk(world)
  await world.settle(
    (async () => {
      await disk.makeDirectory('journal')
      const limit = await WriteLimit.open({ disk, clock: world.clock, directory: 'journal', segmentBytes })
      await body(limit!, disk, world)
    })(),
  )
  return disk
}

test('a segment that was only prepared is searched as far as its first batch may reach', async () => {
  await onDisk(async (limit, disk) => {
    await limit.add(5, epoch)
    const limitOf = await readLimits(disk, 'journal')
    expect(limitOf(5, epoch)).toBe(segmentHeaderBytes + 64 * kibi)
  })
})

test('nothing is known of another segment, or of another life of the same one', async () => {
  await onDisk(async (limit, disk) => {
    await limit.add(5, epoch)
    const limitOf = await readLimits(disk, 'journal')
    expect(limitOf(6, epoch)).toBeUndefined()
    expect(limitOf(5, [7, 9])).toBeUndefined()
    expect(limitOf(5, [9, 8])).toBeUndefined()
  })
})

test('the segments before keep their limits, three in all', async () => {
  await onDisk(async (limit, disk) => {
    for (const index of [1, 2, 3, 4]) await limit.add(index, epoch)
    const limitOf = await readLimits(disk, 'journal')
    expect([1, 2, 3, 4].map((index) => limitOf(index, epoch) !== undefined)).toEqual([
      false,
      true,
      true,
      true,
    ])
  })
})

test('a batch below the limit waits for nothing, one behind it until the limit is durable', async () => {
  await onDisk(async (limit, disk) => {
    await limit.add(0, epoch)
    expect(limit.whenReaches(0, 60 * kibi)).toBeUndefined()
    const raised = limit.whenReaches(0, 100 * kibi)
    expect(raised).toBeDefined()
    expect(limit.whenReaches(0, 100 * kibi)).toBeDefined()
    await raised
    expect(limit.whenReaches(0, 100 * kibi)).toBeUndefined()
    expect((await readLimits(disk, 'journal'))(0, epoch)).toBe((100 + 512) * kibi)
  })
})

test('the limit is raised before it is reached, and never behind the end of the segment', async () => {
  await onDisk(async (limit) => {
    await limit.add(0, epoch)
    await limit.raiseAhead(0, 60 * kibi)
    expect(limit.raiseAhead(0, 100 * kibi)).toBeUndefined()
    expect(limit.raiseAhead(0, 400 * kibi)).toBeDefined()
    await limit.whenReaches(0, segmentBytes)
    expect(limit.raiseAhead(0, segmentBytes)).toBeUndefined()
    expect(limit.whenReaches(0, segmentBytes)).toBeUndefined()
  })
})

test('the step grows while it lasts for less than a tenth of a second, and shrinks when it lasts', async () => {
  await onDisk(async (limit, disk, world) => {
    const limitNow = async () => (await readLimits(disk, 'journal'))(0, epoch)!
    await limit.add(0, epoch)
    await limit.whenReaches(0, 1024 * kibi)
    await limit.whenReaches(0, 4096 * kibi)
    expect(await limitNow()).toBeGreaterThanOrEqual((4096 + 1024) * kibi)
    await new Promise<void>((resolve) => world.clock.after(5000, resolve))
    await limit.whenReaches(0, 20_480 * kibi)
    expect(await limitNow()).toBe((20_480 + 512) * kibi)
  })
})

test('a later life goes on with what the file says, in the slot that is not the newest', async () => {
  await onDisk(async (limit, disk, world) => {
    await limit.add(0, epoch)
    const again = await WriteLimit.open({ disk, clock: world.clock, directory: 'journal', segmentBytes })
    await again!.add(1, [1, 2])
    const limitOf = await readLimits(disk, 'journal')
    expect(limitOf(0, epoch)).toBeDefined()
    expect(limitOf(1, [1, 2])).toBeDefined()
  })
})

test('of two slots the newer counts, and neither where one does not verify', () => {
  const slots = [
    encodeLimitSlot({ sequence: 2 ** 40, segments: [{ index: 2 ** 45, epoch, limitBytes: 2 ** 31 }] }),
    encodeLimitSlot({ sequence: 2 ** 40 - 1, segments: [] }),
  ]
  const bytes = Buffer.concat(slots)
  expect(bytes.length).toBe(limitFileBytes)
  expect(decodeLimitSlots(bytes)).toMatchObject({
    newest: {
      slot: 0,
      sequence: 2 ** 40,
      segments: [{ index: 2 ** 45, epoch: [7, 8], limitBytes: 2 ** 31 }],
    },
    areTrusted: true,
  })
  for (const at of [0, 8, 24, 104, 4096, 4104, 4200]) {
    const damaged = Buffer.from(bytes)
    damaged[at] = damaged[at]! ^ 1
    expect(decodeLimitSlots(damaged).areTrusted, `byte ${at}`).toBe(false)
  }
  expect(decodeLimitSlots(bytes.subarray(0, 4096)).areTrusted).toBe(false)
  expect(decodeLimitSlots(Buffer.alloc(limitFileBytes))).toEqual({ newest: undefined, areTrusted: false })
})

test('a file that the disk refuses to read is made anew', async () => {
  await onDisk(async (limit, disk, world) => {
    await limit.add(0, epoch)
    const options = { disk, clock: world.clock, directory: 'journal', segmentBytes }
    ;(disk as SimDisk).arm([{ at: 1, kinds: ['read'], under: 'journal/limit', errno: 'EIO', count: 2 }])
    expect((await readLimits(disk, 'journal'))(0, epoch)).toBeUndefined()
    const again = await WriteLimit.open(options)
    expect((await readLimits(disk, 'journal'))(0, epoch)).toBeUndefined()
    await again!.add(1, epoch)
    expect((await readLimits(disk, 'journal'))(1, epoch)).toBeDefined()
  })
})

test('a full disk, which has no room for the file, leaves a journal without a limit', async () => {
  const world = new SimWorld({ seed: 1, order: 'fifo' })
  const disk = new SimDisk(world)
  await world.settle(
    (async () => {
      await disk.makeDirectory('journal')
      disk.arm([{ at: 1, kinds: ['write'], errno: 'ENOSPC' }])
      const options = { disk, clock: world.clock, directory: 'journal', segmentBytes }
      expect(await WriteLimit.open(options)).toBeUndefined()
      expect(await WriteLimit.open(options)).toBeDefined()
    })(),
  )
})

test('a slot that is older than the one before its neighbour vouches for nothing', () => {
  const slot = (sequence: number) => encodeLimitSlot({ sequence, segments: [] })
  const trusted = (first: Buffer, second: Buffer) =>
    decodeLimitSlots(Buffer.concat([first, second])).areTrusted
  const blank = Buffer.alloc(4096)
  expect(trusted(slot(1), blank)).toBe(true)
  expect(trusted(slot(3), blank)).toBe(false)
  expect(trusted(slot(3), slot(2))).toBe(true)
  expect(trusted(slot(5), slot(2))).toBe(false)
})

test('a limit beside one that has rotted is not taken over by a later life', async () => {
  await onDisk(async (limit, disk, world) => {
    await limit.add(0, epoch)
    await limit.whenReaches(0, 1024 * kibi)
    await limit.whenReaches(0, 8192 * kibi)
    // The third write is in the first slot.
    ;(disk as SimDisk).image.flipBit('journal/limit', 30, 0)
    const options = { disk, clock: world.clock, directory: 'journal', segmentBytes }
    await (await WriteLimit.open(options))!.add(1, [1, 2])
    const limitOf = await readLimits(disk, 'journal')
    expect([limitOf(0, epoch), limitOf(1, [1, 2])]).toEqual([undefined, segmentHeaderBytes + 64 * kibi])
  })
})
