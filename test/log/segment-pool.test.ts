/** Spares and segments on a simulated disk: what a crash leaves is usable, and a full disk is met
 * where one can wait. */
import { expect, test } from 'vitest'
import type { Disk } from '../../src/disk/disk.js'
import { reserveSpares } from '../../src/log/segment-pool.js'
import { formatVersion, decodeSegmentHeader, segmentHeaderBytes, segmentName } from '../../src/log/segment.js'
import type { DiskImage } from '../../src/sim/disk/disk-image.js'
import type { Operation } from '../../src/sim/disk/operation.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { journalPool, segmentBytes } from './fixture.js'

const mebibyte = 1024 * 1024

async function begin(disk: Disk): Promise<void> {
  await disk.makeDirectory('journal')
  await disk.syncDirectory('')
}

/** Makes spares, makes segments of them, recycles one, makes another of it. */
async function use(disk: Disk): Promise<void> {
  await begin(disk)
  const pool = journalPool(disk)
  const first = pool.prepare(0, [1, 2])
  await pool.refill()
  await (await first).close()
  await (await pool.prepare(1, [3, 4])).close()
  await pool.refill()
  await pool.recycle([0])
  await (await pool.prepare(2, [5, 6])).close()
}

test('a segment that was handed over is there after any crash, with its header and its whole length', async () => {
  const { disk, world } = newDisk()
  await world.settle(begin(disk))
  const pool = journalPool(disk)
  const preparing = pool.prepare(7, [11, 12])
  await world.settle(pool.refill().then(() => preparing))
  let states = 0
  for (const { image } of disk.crashStates()) {
    states++
    const bytes = image.bytes(`journal/${segmentName(7)}`)
    expect(decodeSegmentHeader(bytes, {})).toEqual({
      version: formatVersion,
      log: 0,
      index: 7,
      segmentBytes,
      epoch: [11, 12],
      life: 1,
    })
    expect(bytes.length).toBe(segmentBytes)
    expect(bytes.subarray(segmentHeaderBytes).every((byte) => byte === 0)).toBe(true)
  }
  expect(states).toBeGreaterThan(0)
})

test('after a crash at any call, a pool takes over what is there and makes segments of it', async () => {
  const images: { readonly image: DiskImage; readonly line: string }[] = []
  const world = new SimWorld({ seed: 3 })
  const disk: SimDisk = new SimDisk(world, {
    observer: {
      before: ({ n, operation }) => {
        for (const { image } of [
          ...disk.crashStates({ exhaustiveUnitsMax: 2, randomStates: 1, statesMax: 4 }),
          ...disk.killStates(),
        ])
          images.push({ image, line: `op=${n} ${operation.kind} ${operation.path}` })
      },
    },
  })
  await world.settle(use(disk))
  expect(images.length).toBeGreaterThan(disk.callCount)
  for (const { image, line } of images)
    expect({ line, ...(await takeOver(image)) }).toEqual({ line, unfinished: 0, short: 0, prepared: true })
})

test('a spare that has its name has its whole length after any crash, so that a write to it meets no full disk', async () => {
  const { disk, world } = newDisk()
  await world.settle(begin(disk))
  await world.settle(journalPool(disk).refill())
  for (const { image } of disk.crashStates()) {
    const spares = image.files().filter((path) => !path.endsWith('.fill'))
    expect(spares).toHaveLength(reserveSpares)
    for (const path of spares) expect(image.bytes(path)).toEqual(Buffer.alloc(segmentBytes))
  }
})

test('a spare that is filled in several pieces is whole after any crash', async () => {
  const world = new SimWorld({ seed: 3 })
  const calls: string[] = []
  const before = ({ operation }: { operation: Operation }): void => {
    if (operation.path === 'journal/spare-1.fill') calls.push(operation.kind)
  }
  const disk = new SimDisk(world, { observer: { before } })
  await world.settle(begin(disk))
  await world.settle(journalPool(disk, undefined, 2.5 * mebibyte).refill())
  expect(calls.filter((kind) => kind === 'write')).toHaveLength(3)
  expect(calls.filter((kind) => kind === 'sync')).toHaveLength(3)
  for (const { image } of disk.crashStates())
    expect(image.bytes('journal/spare-1').equals(Buffer.alloc(2.5 * mebibyte))).toBe(true)
})

test('a piece whose sync fails ends the life, though the next one only meets a full disk', async () => {
  const { disk, world } = newDisk()
  await world.settle(begin(disk))
  disk.arm([
    { kinds: ['sync'], under: 'journal/spare-1.fill', at: 1, errno: 'EIO' },
    { kinds: ['write'], under: 'journal/spare-1.fill', at: 2, errno: 'ENOSPC', effect: 'none' },
  ])
  const pool = journalPool(disk, undefined, 2.5 * mebibyte)
  await expect(world.settle(pool.refill())).rejects.toMatchObject({ code: 'DISK_FAILED' })
})

test('the name of a spare that is taken over is given to no other', async () => {
  const { disk, world } = newDisk()
  await world.settle(begin(disk))
  const before = journalPool(disk)
  await world.settle(before.refill())
  await world.settle(before.prepare(0, [1, 1]).then((file) => file.close()))
  await world.settle(before.refill())
  const pool = journalPool(disk)
  await world.settle(disk.list('journal').then((names) => pool.adopt(names, [])))
  await world.settle(pool.prepare(1, [2, 2]).then((file) => file.close()))
  await world.settle(pool.refill().then(() => pool.recycle([0])))
  await world.settle(pool.recycle([1]))
  expect(disk.image.files()).toHaveLength(pool.readyCount)
})

test('a spare that is taken while others are unlinked is made anew', async () => {
  const { disk, world } = newDisk()
  await world.settle(begin(disk))
  const pool = journalPool(disk)
  await world.settle(pool.refill())
  const taken = [0, 1, 2, 3, 4].map((index) => pool.prepare(index, [index, 1]).then((file) => file.close()))
  await world.settle(pool.refill().then(() => Promise.all(taken)))
  await world.settle(pool.refill().then(() => pool.recycle([0, 1])))
  // More than are kept.
  const recycling = pool.recycle([2, 3, 4])
  const refilling = pool.refill()
  const prepared = [5, 6, 7].map((index) => pool.prepare(index, [index, 1]).then((file) => file.close()))
  await world.settle(pool.refill())
  await world.settle(Promise.all([recycling, refilling, ...prepared]))
  expect(pool.readyCount).toBeGreaterThanOrEqual(reserveSpares)
})

test('the last spare waits for the end of a recovery', async () => {
  const { disk, world } = newDisk()
  await world.settle(begin(disk))
  disk.image.size = { capacityBytes: 1.5 * segmentBytes, capacityFiles: Infinity }
  const pool = journalPool(disk)
  pool.keepLast(true)
  let got = false
  const preparing = pool.prepare(0, [1, 1]).then((file) => {
    got = true
    return file.close()
  })
  await world.settle(pool.refill())
  expect([got, pool.readyCount]).toEqual([false, 1])
  pool.keepLast(false)
  await world.settle(preparing)
})

test('of segments that never began none is left above one that has gone, wherever the next start crashes', async () => {
  const { disk: first, world } = newDisk()
  await world.settle(begin(first))
  const pool = journalPool(first)
  const made = [2, 3, 4].map((index) => pool.prepare(index, [index, 1]))
  await world.settle(pool.refill())
  for (const one of made) await world.settle(one.then((file) => file.close()))
  const left = new Set<string>()
  const next = new SimWorld({ seed: 3 })
  const disk: SimDisk = new SimDisk(next, {
    image: first.image,
    observer: {
      before: () => {
        for (const { image } of [...disk.crashStates({ exhaustiveUnitsMax: 4 }), ...disk.killStates()])
          left.add(
            image
              .files()
              .flatMap((path) => /[0-9]+(?=\.log$)/.exec(path)?.map(Number) ?? [])
              .join(),
          )
      },
    },
  })
  await next.settle(disk.list('journal').then((names) => journalPool(disk).adopt(names, [4, 3, 2])))
  expect([...left].sort()).toEqual(['', '2', '2,3', '2,3,4'])
})

async function takeOver(image: DiskImage): Promise<{ unfinished: number; short: number; prepared: boolean }> {
  const { disk, world } = newDisk(image)
  return world.settle(
    (async () => {
      await begin(disk)
      const pool = journalPool(disk)
      await pool.adopt(await disk.list('journal'), [])
      const names = await disk.list('journal')
      const spares = names.filter((name) => /^spare-[0-9]+$/.test(name))
      const short = spares.filter((name) => image.bytes(`journal/${name}`).length !== segmentBytes).length
      const preparing = pool.prepare(99, [1, 1])
      await pool.refill()
      await (await preparing).close()
      return {
        unfinished: names.filter((name) => name.endsWith('.fill')).length,
        short,
        prepared: (await disk.list('journal')).includes(segmentName(99)),
      }
    })(),
  )
}

test('while the disk is full a segment that is asked for waits, and a recycled one is enough', async () => {
  const { disk, world } = newDisk()
  disk.image.size = { capacityBytes: (reserveSpares + 0.5) * segmentBytes, capacityFiles: Infinity }
  await world.settle(begin(disk))
  const pool = journalPool(disk)
  const first = pool.prepare(0, [1, 1])
  await world.settle(pool.refill())
  await world.settle(first.then((file) => file.close()))
  expect([pool.readyCount, pool.diskFull]).toEqual([1, true])
  await world.settle(pool.prepare(1, [2, 2]).then((file) => file.close()))
  let got = false
  const third = pool.prepare(2, [3, 3]).then((file) => {
    got = true
    return file.close()
  })
  await world.settle(pool.refill())
  expect([got, pool.diskFull]).toEqual([false, true])
  await world.settle(pool.recycle([0]).then(() => third))
  expect(got).toBe(true)
  const names = disk.image.files()
  expect(names.filter((name) => name.endsWith('.fill'))).toEqual([])
})

test('a refill that finds room again says that the disk is no longer full', async () => {
  const { disk, world } = newDisk()
  await world.settle(begin(disk))
  disk.image.size = { capacityBytes: segmentBytes / 2, capacityFiles: Infinity }
  const changes: string[] = []
  const pool = journalPool(disk, () => changes.push(`${pool.readyCount} ${pool.diskFull}`))
  await world.settle(pool.refill())
  disk.image.size = { capacityBytes: Infinity, capacityFiles: Infinity }
  await world.settle(pool.refill())
  expect(changes).toEqual(['0 true', `${reserveSpares} false`])
})

test.each([
  ['create', 'all'],
  ['write', 'part'],
  ['rename', 'none'],
  ['rename', 'all'],
] as const)(
  'a spare whose %s met a full disk, with the effect %s, leaves nothing that takes room',
  async (kind, effect) => {
    const { disk, world } = newDisk()
    await world.settle(begin(disk))
    disk.arm([{ kinds: [kind], at: 1, errno: 'ENOSPC', effect }])
    const pool = journalPool(disk)
    await world.settle(pool.refill())
    expect([pool.diskFull, disk.image.files()]).toEqual([true, []])
    await world.settle(pool.refill())
    expect(pool.readyCount).toBe(reserveSpares)
  },
)

test.each([
  ['none', 1, '0 true'],
  ['none', 3, '0 true'],
  ['all', 1, undefined],
] as const)(
  'a spare that a full disk refuses the name of a segment, with the effect %s, %d times, gets it when there is room',
  async (effect, count, told) => {
    const { disk, world } = newDisk()
    await world.settle(begin(disk))
    const changes: string[] = []
    const pool = journalPool(disk, () => changes.push(`${pool.readyCount} ${pool.diskFull}`))
    await world.settle(pool.refill())
    await world.settle(pool.prepare(0, [1, 1]).then((file) => file.close()))
    await world.settle(pool.refill())
    disk.arm([{ kinds: ['rename'], under: 'journal/spare-2', at: 1, errno: 'ENOSPC', effect, count }])
    changes.length = 0
    const preparing = pool.prepare(1, [2, 2])
    for (let tries = 1; tries <= count; tries++) {
      await world.run()
      expect(changes.pop()).toBe(told)
      await world.settle(pool.refill())
    }
    const file = await world.settle(preparing)
    await world.settle(file.close())
    expect([pool.readyCount, pool.diskFull]).toEqual([reserveSpares, false])
    for (const { image } of disk.crashStates())
      expect(decodeSegmentHeader(image.bytes(`journal/${segmentName(1)}`), {})).toMatchObject({
        epoch: [2, 2],
      })
  },
)

test('the first segment of a life is not waited for: a start on a full disk says so', async () => {
  const { disk, world } = newDisk()
  await world.settle(begin(disk))
  const pool = journalPool(disk)
  await world.settle(pool.refill())
  disk.arm([{ kinds: ['rename'], at: 1, errno: 'ENOSPC', effect: 'none' }])
  await expect(world.settle(pool.prepare(0, [1, 1]))).rejects.toMatchObject({ code: 'DISK_FULL' })
})

test.each(['none', 'all'] as const)(
  'garbage that a full disk refuses the name of a spare, with the effect %s, is removed',
  async (effect) => {
    const { disk, world } = newDisk()
    await world.settle(begin(disk))
    const pool = journalPool(disk)
    await world.settle(pool.refill())
    await world.settle(pool.prepare(0, [1, 1]).then((file) => file.close()))
    disk.arm([{ kinds: ['rename'], at: 1, errno: 'ENOSPC', effect }])
    await world.settle(pool.recycle([0]))
    expect(pool.readyCount).toBe(reserveSpares - 1)
    expect(disk.image.files()).toHaveLength(reserveSpares - 1)
  },
)

test.each([
  ['none', 'none'],
  ['none', 'all'],
  ['all', 'none'],
  ['all', 'all'],
] as const)(
  'garbage that a full disk refuses the name of a spare (effect %s) and does not remove (effect %s) goes when there is room',
  async (renamed, unlinked) => {
    const { disk, world } = newDisk()
    await world.settle(begin(disk))
    const pool = journalPool(disk)
    await world.settle(pool.refill())
    await world.settle(pool.prepare(0, [1, 1]).then((file) => file.close()))
    await world.settle(pool.refill())
    disk.arm([
      { kinds: ['rename'], at: 1, errno: 'ENOSPC', effect: renamed },
      { kinds: ['unlink'], at: 1, errno: 'ENOSPC', effect: unlinked, count: 3 },
    ])
    await world.settle(pool.recycle([0]))
    expect([pool.readyCount, pool.diskFull]).toEqual([reserveSpares, true])
    for (let tries = 1; pool.diskFull && tries <= 4; tries++) await world.settle(pool.refill())
    expect([pool.readyCount, pool.diskFull]).toEqual([reserveSpares, false])
    expect(disk.image.files()).toHaveLength(reserveSpares)
  },
)

test('a start whose segments that never began do not go is refused: their names are given again', async () => {
  const { disk, world } = newDisk()
  await world.settle(begin(disk))
  const first = journalPool(disk)
  await world.settle(first.refill())
  await world.settle(first.prepare(5, [1, 1]).then((file) => file.close()))
  disk.arm([
    { kinds: ['rename'], at: 1, errno: 'ENOSPC', effect: 'none' },
    { kinds: ['unlink'], at: 1, errno: 'ENOSPC', effect: 'none' },
  ])
  const next = disk.list('journal').then((names) => journalPool(disk).adopt(names, [5]))
  await expect(world.settle(next)).rejects.toMatchObject({ code: 'DISK_FULL' })
})

test('a spare that is half made, and that a full disk does not remove, goes when there is room', async () => {
  const { disk, world } = newDisk()
  await world.settle(begin(disk))
  disk.arm([
    { kinds: ['write'], at: 1, errno: 'ENOSPC', effect: 'part' },
    { kinds: ['unlink'], at: 1, errno: 'ENOSPC', effect: 'none', count: 2 },
  ])
  const pool = journalPool(disk)
  for (let tries = 1; tries <= 4; tries++) await world.settle(pool.refill())
  expect([pool.readyCount, pool.diskFull]).toEqual([reserveSpares, false])
  expect(disk.image.files()).toHaveLength(reserveSpares)
})

test('garbage beyond the spares that are kept is removed', async () => {
  const { disk, world } = newDisk()
  await world.settle(begin(disk))
  const pool = journalPool(disk)
  const segments = Array.from({ length: 8 }, (_, i) => i)
  const prepared = segments.map((index) => pool.prepare(index, [index, 1]))
  await world.settle(pool.refill())
  for (const one of prepared) await world.settle(one.then((file) => file.close()))
  const before = pool.readyCount
  await world.settle(pool.recycle(segments))
  expect(before).toBe(reserveSpares)
  expect(pool.readyCount).toBe(4)
  expect(disk.image.files()).toHaveLength(4)
})

function newDisk(image?: DiskImage): { disk: SimDisk; world: SimWorld } {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  return { world, disk: new SimDisk(world, image === undefined ? {} : { image }) }
}

test('of a file with two names one goes, before anybody writes to what is another segment, too', async () => {
  const { disk, world } = newDisk()
  await world.settle(use(disk))
  const { image } = disk
  const journal = image.directory('journal')
  // What two failed syncs of the directory and a power loss may leave.
  const twin = (name: string, of: string): void =>
    journal.set(name, image.file(`journal/${of}`), image.nextSeq())
  twin(segmentName(0), segmentName(2))
  twin('spare-91', segmentName(1))
  twin('spare-92', 'spare-91')
  twin(
    segmentName(3),
    [...journal.names.keys()].find((name) => name.startsWith('spare-'))!,
  )
  const pool = journalPool(disk)
  await world.settle(pool.adopt(await world.settle(disk.list('journal')), [3]))
  await world.settle(pool.recycle([0]))
  const files = [...journal.names.values()]
  expect(new Set(files).size).toBe(files.length)
  expect([...journal.names.keys()].filter((name) => name.endsWith('.log'))).toEqual(
    expect.arrayContaining([segmentName(1), segmentName(2)]),
  )
})
