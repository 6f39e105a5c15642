/** How far the journal may have been written, as a start believes it. */
import { expect, test } from 'vitest'
import type { Disk } from '../../src/disk/disk.js'
import type { DiskImage } from '../../src/sim/disk/disk-image.js'
import { decodeLimitSlots, encodeLimitSlot, limitFileBytes } from '../../src/log/limit-slots.js'
import { segmentHeaderBytes } from '../../src/log/segment.js'
import { readLimits, WriteLimit } from '../../src/log/write-limit.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'

const segmentBytes = 64 * 1024 * 1024
const epoch = [7, 8] as const
const kibi = 1024
/** Of a segment in which nothing is written yet. */
const first = segmentHeaderBytes + 64 * kibi

/** A limit on an empty disk, in a world whose time the test moves. */
async function onDisk(
  body: (limit: WriteLimit, disk: SimDisk, world: SimWorld) => Promise<void>,
  onWrite: (disk: SimDisk) => void = () => undefined,
): Promise<void> {
  const world = new SimWorld({ seed: 1, order: 'fifo' })
  const disk: SimDisk = new SimDisk(world, {
    observer: { before: ({ operation }) => operation.kind === 'writeSynced' && onWrite(disk) },
  })
  await world.settle(
    (async () => {
      await disk.makeDirectory('journal')
      const limit = await WriteLimit.open({ disk, clock: world.clock, directory: 'journal', segmentBytes })
      await body(limit!, disk, world)
    })(),
  )
}

test('a segment that was only prepared is searched as far as its first batch may reach', async () => {
  await onDisk(async (limit, disk) => {
    await limit.add(5, epoch)
    const limitOf = await readLimits(disk, 'journal')
    expect(limitOf(5, epoch)).toBe(first)
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

const again = (disk: Disk, { clock }: SimWorld): Promise<WriteLimit | undefined> =>
  WriteLimit.open({ disk, clock, directory: 'journal', segmentBytes })

test('a later life goes on with what the file says, and replaces both slots at once', async () => {
  await onDisk(async (limit, disk, world) => {
    await limit.add(0, epoch)
    await (await again(disk, world))!.add(1, [1, 2])
    const limitOf = await readLimits(disk, 'journal')
    expect([limitOf(0, epoch), limitOf(1, [1, 2])]).toEqual([first, first])
  })
})

test('a write of an earlier life that comes late leaves no limit', async () => {
  for (const turnsBefore of [1, 2, 3, 4])
    await onDisk(async (limit, disk, world) => {
      await limit.add(0, epoch)
      for (let turn = 1; turn < turnsBefore; turn++) await limit.whenReaches(0, 2 ** (18 + turn))
      const next = (await again(disk, world))!
      await next.add(1, [1, 2])
      for (let turn = 0; turn < 3; turn++) {
        await next.whenReaches(1, 2 ** (21 + turn))
        expect((await readLimits(disk, 'journal'))(1, [1, 2])).toBeGreaterThan(2 ** (21 + turn))
      }
      await limit.whenReaches(0, 2 ** 25)
      expect((await readLimits(disk, 'journal'))(1, [1, 2])).toBeUndefined()
    })
})

test('of two slots the later counts, and neither where one does not verify', () => {
  const segments = [{ index: 2 ** 45, epoch, limitBytes: 2 ** 31 }]
  const slots = [
    encodeLimitSlot({ epoch, turn: 2 ** 31 + 1, segments }),
    encodeLimitSlot({ epoch, turn: 2 ** 31, segments: [] }),
  ]
  const bytes = Buffer.concat(slots)
  expect(bytes.length).toBe(limitFileBytes)
  expect(decodeLimitSlots(bytes)).toEqual({ epoch, turn: 2 ** 31 + 1, segments })
  for (const at of [0, 8, 16, 20, 24, 104, 4096, 4104, 4200]) {
    const damaged = Buffer.from(bytes)
    damaged[at] = damaged[at]! ^ 1
    expect(decodeLimitSlots(damaged), `byte ${at}`).toBeUndefined()
  }
  expect(decodeLimitSlots(bytes.subarray(0, 4096))).toBeUndefined()
  expect(decodeLimitSlots(Buffer.concat([slots[0]!, Buffer.alloc(4096)]))).toBeUndefined()
  expect(decodeLimitSlots(Buffer.alloc(limitFileBytes))).toBeUndefined()
})

test('a slot counts only beside the one that its life wrote just before it', () => {
  const slot = (turn: number, of: readonly [number, number] = epoch) =>
    encodeLimitSlot({ epoch: of, turn, segments: [] })
  const counts = (one: Buffer, other: Buffer) => decodeLimitSlots(Buffer.concat([one, other]))?.turn
  expect(counts(slot(3), slot(2))).toBe(3)
  expect(counts(slot(3), slot(4))).toBe(4)
  expect(counts(slot(5), slot(2))).toBeUndefined()
  expect(counts(slot(3), slot(3))).toBeUndefined()
  expect(counts(slot(3, [7, 9]), slot(2))).toBeUndefined()
  expect(counts(slot(3, [9, 8]), slot(2))).toBeUndefined()
})

test('whatever a power failure leaves of a write, no limit is lower than it was before', async () => {
  const states: { readonly image: DiskImage; readonly lowest: number }[] = []
  let lowest = 0
  await onDisk(
    async (limit, disk, world) => {
      let life = limit
      await life.add(0, epoch)
      for (let turn = 0; turn < 6; turn++) {
        for (let raised = 0; raised <= turn; raised++) {
          lowest = (await readLimits(disk, 'journal'))(0, epoch)!
          await life.whenReaches(0, lowest + 1)
        }
        lowest = (await readLimits(disk, 'journal'))(0, epoch)!
        life = (await again(disk, world))!
        await life.add(1, [1, turn])
      }
    },
    (disk) =>
      states.push(
        ...[...disk.crashStates({ exhaustiveUnitsMax: 2, randomStates: 6 })].map(({ image }) => ({
          image,
          lowest,
        })),
      ),
  )
  const found = []
  for (const { image, lowest } of states) {
    const world = new SimWorld({ seed: 1, order: 'fifo' })
    const limitOf = await world.settle(readLimits(new SimDisk(world, { image }), 'journal'))
    found.push(limitOf(0, epoch))
    expect(limitOf(0, epoch) ?? Infinity).toBeGreaterThanOrEqual(lowest)
  }
  expect(found).toContain(undefined)
  expect(found.filter((limitBytes) => limitBytes !== undefined).length).toBeGreaterThan(50)
})

test.each(['open', 'read'] as const)('a file that the disk refuses to %s is made anew', async (kind) => {
  await onDisk(async (limit, disk, world) => {
    await limit.add(0, epoch)
    disk.arm([{ at: 1, kinds: [kind], under: 'journal/limit', errno: 'EIO', count: 2 }])
    expect((await readLimits(disk, 'journal'))(0, epoch)).toBeUndefined()
    const next = await again(disk, world)
    expect((await readLimits(disk, 'journal'))(0, epoch)).toBeUndefined()
    await next!.add(1, epoch)
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
      expect(await disk.list('journal')).toEqual([])
      expect(await WriteLimit.open(options)).toBeDefined()
    })(),
  )
})

test('a file that a life began anew and did not end is gone with the next life that reads the first', async () => {
  await onDisk(async (limit, disk, world) => {
    await limit.add(0, epoch)
    disk.arm([
      { at: 1, kinds: ['read'], under: 'journal/limit', errno: 'EIO' },
      { at: 1, kinds: ['rename'], errno: 'EIO' },
    ])
    await expect(again(disk, world)).rejects.toMatchObject({ code: 'DISK_FAILED' })
    expect(await disk.list('journal')).toEqual(['limit', 'limit.new'])
    // A life that need not remove it begins without, too.
    disk.arm([{ at: 1, kinds: ['unlink'], errno: 'EIO' }])
    expect(await again(disk, world)).toBeDefined()
    expect(await disk.list('journal')).toEqual(['limit', 'limit.new'])
    await again(disk, world)
    expect(await disk.list('journal')).toEqual(['limit'])
    expect((await readLimits(disk, 'journal'))(0, epoch)).toBe(first)
  })
})

test('a limit beside one that has rotted is not taken over by a later life', async () => {
  await onDisk(async (limit, disk, world) => {
    await limit.add(0, epoch)
    await limit.whenReaches(0, 1024 * kibi)
    await limit.whenReaches(0, 8192 * kibi)
    // Turns 1 and 2 were the first write, so the last one is in the second slot.
    disk.image.flipBit('journal/limit', 4096 + 30, 0)
    await (await again(disk, world))!.add(1, [1, 2])
    const limitOf = await readLimits(disk, 'journal')
    expect([limitOf(0, epoch), limitOf(1, [1, 2])]).toEqual([undefined, first])
  })
})
