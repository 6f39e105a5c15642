/** A lane's log on a simulated disk: trusted up to what was synced, and written in whole groups. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { position, type Position } from '../../src/base/position.js'
import { seededPrng } from '../../src/base/prng.js'
import type { Disk } from '../../src/disk/disk.js'
import { LaneLog } from '../../src/log/lane-log.js'
import { SegmentFiles } from '../../src/log/segment-files.js'
import { SegmentGrid, segmentHeaderBytes, segmentName } from '../../src/log/segment.js'
import { frameBytes, frameHeaderBytes, kindAt, kinds, payloadAt } from '../../src/record/frame.js'
import type { DiskImage } from '../../src/sim/disk/disk-image.js'
import type { EventOrder } from '../../src/sim/world/event-queue.js'
import type { Fault } from '../../src/sim/disk/faults.js'
import { SimDisk, type SimDiskOptions } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { codeOf } from '../engine/stage.js'

const segmentBytes = 8 * 4096
const grid = new SegmentGrid(segmentBytes)
const born = position(segmentHeaderBytes)

interface Lane {
  readonly world: SimWorld
  readonly disk: SimDisk
  readonly log: LaneLog
  readonly failures: unknown[]
  /** Appends a group, when there is room for it. Returns the positions of its frames. */
  readonly append: (sizes: readonly number[]) => Promise<Position[]>
}

async function openLane(
  options: SimDiskOptions = {},
  end: Position = born,
  seed = 1,
  order: EventOrder = 'fifo',
): Promise<Lane> {
  const world = new SimWorld({ seed, order })
  const disk = new SimDisk(world, options)
  const failures: unknown[] = []
  const waiting: (() => void)[] = []
  const log = newLog(disk, end, failures, () => {
    for (const look of waiting.splice(0)) look()
  })
  await world.settle(
    disk
      .makeDirectory('lane')
      .then(() => disk.syncDirectory(''))
      .then(() => log.recover()),
  )
  const append = async (sizes: readonly number[]): Promise<Position[]> => {
    const bytes = sizes.reduce((sum, size) => sum + frameBytes(size), 0)
    while (!log.hasRoom(bytes)) await new Promise<void>((look) => waiting.push(look))
    log.open(bytes, 1)
    return sizes.map((size) => log.append(kinds.envelope, 3, 1, Buffer.alloc(size, size % 250)))
  }
  return { world, disk, log, failures, append }
}

const newLog = (disk: Disk, end: Position, failures: unknown[], onRoom: () => void): LaneLog =>
  new LaneLog({
    disk,
    directory: 'lane',
    log: 6,
    life: 1,
    prng: seededPrng(3),
    files: new SegmentFiles(disk, 'lane', 6, 'lane 3 envelopes', grid),
    end,
    onSegment: () => undefined,
    onRoom,
    onFull: () => undefined,
    onFailure: (error) => failures.push(error),
  })

/** Positions and sizes of the envelopes before `end`. */
async function readBack({ world, log }: Lane, from: Position, end: Position): Promise<string[]> {
  const found: string[] = []
  await world.settle(
    log.read(from, end, (window, at, place) => {
      if (kindAt(window, at) !== kinds.envelope) return
      const payload = payloadAt(window, at)
      const isWhole = payload.every((byte) => byte === payload.length % 250)
      found.push(`${place}: ${payload.length}${isWhole ? '' : ' damaged'}`)
    }),
  )
  return found
}

const anyGroups = fc.array(fc.array(fc.nat(3000), { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 40,
  size: 'max',
})

test('what was appended and synced is read back in order, each group in one segment', async () => {
  await fc.assert(
    fc.asyncProperty(anyGroups, fc.nat(5), async (groups, every) => {
      const lane = await openLane()
      const told: string[] = []
      for (const [i, sizes] of groups.entries()) {
        const at = await lane.world.settle(lane.append(sizes))
        at.forEach((place, n) => told.push(`${place}: ${sizes[n]}`))
        const last = at.at(-1)! + frameBytes(sizes.at(-1)!) - 1
        expect(grid.indexOf(at[0]!)).toBe(grid.indexOf(position(last)))
        if (i % (every + 1) === 0) lane.log.pad(1)
      }
      const end = lane.log.pad(1)
      await lane.world.settle(lane.log.sync())
      expect(await readBack(lane, born, end)).toEqual(told)
      expect(lane.failures).toEqual([])
    }),
    { numRuns: 40 },
  )
})

test.each([
  ['leaves exactly the 16 bytes of an empty pad', 0],
  ['would leave 8 bytes and goes to the next segment', 8],
  ['would fill the segment to the last byte and goes to the next', 16],
  ['leaves 24 bytes', -8],
])('a group that %s', async (_, more) => {
  const lane = await openLane()
  const room = segmentBytes - segmentHeaderBytes
  const [first] = await lane.world.settle(lane.append([100]))
  const second = room - frameBytes(100) - frameHeaderBytes - frameHeaderBytes + more
  const [at] = await lane.world.settle(lane.append([second]))
  const [after] = await lane.world.settle(lane.append([200]))
  const end = lane.log.pad(1)
  await lane.world.settle(lane.log.sync())
  expect(grid.indexOf(at!)).toBe(more > 0 ? 1 : 0)
  expect(grid.indexOf(after!)).toBe(grid.indexOf(at!) + 1)
  expect(await readBack(lane, born, end)).toEqual([`${first}: 100`, `${at}: ${second}`, `${after}: 200`])
})

test('a pad ends on a block, whatever stands before it, and one more pad is none', async () => {
  for (let size = 4000; size < 4120; size++) {
    const lane = await openLane()
    await lane.world.settle(lane.append([size]))
    const end = lane.log.pad(1)
    expect(end % 4096).toBe(0)
    expect(lane.log.pad(1)).toBe(end)
  }
})

test('what was padded and synced survives every crash, byte for byte, whatever was appended behind it', async () => {
  const lane = await openLane({}, born, 9)
  for (let i = 0; i < 12; i++) await lane.world.settle(lane.append([i * 300, 50]))
  const end = lane.log.pad(1)
  await lane.world.settle(lane.log.sync())
  const told = await readBack(lane, born, end)
  for (let i = 0; i < 9; i++) await lane.world.settle(lane.append([i * 700]))
  // The buffer goes to the system when it is full or synced; a sync that has begun is the worst
  // moment.
  void lane.log.sync().catch(() => undefined)
  await lane.world.run({ eventsMax: 2 }).catch(() => undefined)
  let states = 0
  for (const { image } of [...lane.disk.crashStates({ exhaustiveUnitsMax: 5 }), ...lane.disk.killStates()]) {
    states++
    const next = await reopened(image, end)
    expect(await readBack(next, born, end)).toEqual(told)
    expect(next.log.end).toBe(end)
  }
  expect(states).toBeGreaterThan(5)
})

test('a sync waits for all that was written before it, in whatever order that takes effect', async () => {
  for (let seed = 0; seed < 12; seed++) {
    const lane = await openLane({}, born, seed, 'seeded')
    const { world, log } = lane
    for (let i = 0; i < 6; i++) await world.settle(lane.append([3000]))
    await world.settle(log.sync())
    // Room is made: what is appended now crosses into the next segment, and is synced, in one step.
    while (!log.hasRoom(12_000)) await world.run()
    await world.settle(lane.append([9000, 2900]))
    const at = await world.settle(Promise.all([lane.append([4000]), lane.append([100])]))
    const end = log.pad(1)
    await world.settle(log.sync())
    expect(grid.indexOf(at[1]![0]!)).toBe(1)
    const told = await readBack(lane, born, end)
    for (const { image } of lane.disk.crashStates({ seed }))
      expect(await readBack(await reopened(image, end), born, end)).toEqual(told)
  }
})

test('a sync of what is synced already calls nothing', async () => {
  const calls: string[] = []
  const lane = await openLane({ observer: { before: ({ operation }) => calls.push(operation.kind) } })
  for (let i = 0; i < 12; i++) await lane.world.settle(lane.append([3000]))
  await lane.world.settle(lane.log.sync())
  calls.length = 0
  await lane.world.settle(lane.log.sync())
  expect(calls).toEqual([])
})

/** Another life, on the image that a crash left. */
const reopened = (image: DiskImage, end: Position): Promise<Lane> => openLane({ image }, end)

test('a start cuts the log at its end: what stood behind is gone and its place is written anew', async () => {
  const lane = await openLane()
  await lane.world.settle(lane.append([500]))
  const end = lane.log.pad(1)
  await lane.world.settle(lane.append([600]))
  for (let i = 0; i < 12; i++) await lane.world.settle(lane.append([3000]))
  const later = lane.log.pad(1)
  await lane.world.settle(lane.log.sync())
  expect(grid.indexOf(later)).toBeGreaterThan(grid.indexOf(end))
  lane.disk.abandon()
  const next = await reopened(lane.disk.image, end)
  expect(next.disk.image.files()).toEqual([`lane/${segmentName(0)}`])
  const behind = next.disk.image.bytes(`lane/${segmentName(0)}`).subarray(grid.offsetOf(end))
  expect(behind.length).toBeLessThan(segmentBytes - grid.offsetOf(end))
  expect(behind.equals(Buffer.alloc(behind.length))).toBe(true)
  const [at] = await next.world.settle(next.append([700]))
  const newEnd = next.log.pad(1)
  await next.world.settle(next.log.sync())
  expect(at).toBe(end)
  expect(await readBack(next, end, newEnd)).toEqual([`${end}: 700`])
})

test('a start keeps room that the log has: on a full disk there is no other', async () => {
  const lane = await openLane()
  await lane.world.settle(lane.append([500]))
  const end = lane.log.pad(1)
  await lane.world.settle(lane.append([600]))
  await lane.world.settle(lane.log.sync())
  lane.disk.abandon()
  const { image } = lane.disk
  image.size = { capacityBytes: 0, capacityFiles: Infinity }
  const next = await reopened(image, end)
  expect(next.log.hasRoom(segmentBytes / 8)).toBe(true)
  const [at] = await next.world.settle(next.append([700]))
  await next.world.settle(next.log.sync())
  expect(await readBack(next, end, next.log.end)).toEqual([`${at}: 700`])
  expect(next.failures).toEqual([])
})

test('a start whose disk is too full even to write where something is cuts the log at its end', async () => {
  const lane = await openLane()
  await lane.world.settle(lane.append([500]))
  const end = lane.log.pad(1)
  await lane.world.settle(lane.append([600]))
  await lane.world.settle(lane.log.sync())
  lane.disk.abandon()
  const { image } = lane.disk
  const full: Fault = { kinds: ['write'], at: 1, errno: 'ENOSPC', effect: 'part' }
  const next = await openLane({ image, faults: [full] }, end)
  expect(image.bytes(`lane/${segmentName(0)}`).length).toBe(grid.offsetOf(end))
  const [at] = await next.world.settle(next.append([700]))
  await next.world.settle(next.log.sync())
  expect(await readBack(next, end, next.log.end)).toEqual([`${at}: 700`])
})

test('a log that was cut at the beginning of a segment goes on in a file of its own', async () => {
  const lane = await openLane()
  await lane.world.settle(lane.append([segmentBytes - segmentHeaderBytes - 3 * frameHeaderBytes]))
  const end = lane.log.pad(1)
  await lane.world.settle(lane.log.sync())
  expect(grid.offsetOf(end)).toBe(segmentHeaderBytes)
  lane.disk.abandon()
  const next = await reopened(lane.disk.image, end)
  const [at] = await next.world.settle(next.append([10]))
  const newEnd = next.log.pad(1)
  await next.world.settle(next.log.sync())
  expect(await readBack(next, end, newEnd)).toEqual([`${at}: 10`])
})

test('trusted content that is missing or cut short is LOG_CORRUPT with its place', async () => {
  const lane = await openLane()
  await lane.world.settle(lane.append([5000]))
  const end = lane.log.pad(1)
  await lane.world.settle(lane.log.sync())
  lane.disk.abandon()
  const { image } = lane.disk
  const corrupt = { code: 'LOG_CORRUPT', place: { log: 'lane 3 envelopes', segment: 0 } }
  await alter(image, async (disk) => {
    const file = await disk.open(`lane/${segmentName(0)}`, 'write')
    await file.truncate(grid.offsetOf(end) - 1)
    await file.close()
  })
  await expect(reopened(image, end)).rejects.toMatchObject(corrupt)
  await alter(image, (disk) => disk.unlink(`lane/${segmentName(0)}`))
  await expect(reopened(image, end)).rejects.toMatchObject(corrupt)
})

async function alter(image: DiskImage, act: (disk: Disk) => Promise<void>): Promise<void> {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  const disk = new SimDisk(world, { image })
  await world.settle(act(disk))
  disk.abandon()
}

test('a file that is no segment changes nothing', async () => {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  const disk = new SimDisk(world)
  await world.settle(disk.makeDirectory('lane').then(() => disk.open('lane/notes.txt', 'create')))
  await world.settle(newLog(disk, born, [], () => undefined).recover())
  expect(await world.settle(disk.list('lane'))).toEqual(['notes.txt'])
})

test('a full disk is met before anything is appended, and room comes when there is some', async () => {
  const lane = await openLane()
  await lane.world.settle(lane.append([100]))
  lane.disk.image.size = { capacityBytes: segmentBytes / 2, capacityFiles: Infinity }
  const { log, world } = lane
  expect(log.hasRoom(20_000)).toBe(false)
  await world.run()
  expect([log.hasRoom(20_000), log.diskFull]).toEqual([false, true])
  expect(lane.failures).toEqual([])
  lane.disk.image.size = { capacityBytes: Infinity, capacityFiles: Infinity }
  log.extend()
  await world.run()
  expect([log.hasRoom(20_000), log.diskFull]).toEqual([true, false])
})

test.each([
  ['create', 'none', 1],
  ['create', 'all', 1],
  ['create', 'all', 3],
  ['write', 'part', 1],
  ['write', 'all', 1],
] as const)(
  'a segment whose %s met a full disk, with the effect %s, %d times, is made when there is room',
  async (kind, effect, count) => {
    const lane = await openLane({ faults: [{ kinds: [kind], at: 1, errno: 'ENOSPC', effect, count }] })
    const { log, world } = lane
    for (let tries = 1; tries <= count; tries++) {
      log.extend()
      await world.run()
      expect([log.hasRoom(100), log.diskFull]).toEqual([false, true])
    }
    log.extend()
    const [at] = await world.settle(lane.append([100]))
    await world.settle(log.sync())
    expect(lane.failures).toEqual([])
    expect(await world.settle(log.files.frame(at!))).toMatchObject({ kind: 'envelope' })
  },
)

test('a half made segment that cannot be taken away is a full disk too, and is tried again', async () => {
  const full = { errno: 'ENOSPC', at: 1 } as const
  const lane = await openLane({
    faults: [
      { ...full, kinds: ['create'], effect: 'all' },
      { ...full, kinds: ['unlink'], effect: 'none', count: 2 },
    ],
  })
  const { log, world } = lane
  for (let tries = 1; tries <= 3; tries++) {
    log.extend()
    await world.run()
    expect(log.diskFull).toBe(true)
  }
  log.extend()
  await world.settle(lane.append([100]))
  expect(lane.failures).toEqual([])
})

test.each(['create', 'write'] as const)(
  'a log whose lane has left the table leaves nothing of a segment whose %s met a full disk',
  async (kind) => {
    const lane = await openLane({ faults: [{ kinds: [kind], at: 1, errno: 'ENOSPC', effect: 'all' }] })
    const { log, world, disk } = lane
    log.extend()
    await world.run()
    expect([log.diskFull, disk.image.files()]).toEqual([true, [`lane/${segmentName(0)}`]])
    await world.settle(log.close())
    expect(disk.image.files()).toEqual([])
  },
)

test.each(['EIO', 'SHORT'] as const)('a write or a sync that fails with %s ends the life', async (errno) => {
  for (const [kind, at] of [
    ['write', 1],
    ['sync', 1],
    ['syncDirectory', 2],
  ] as const) {
    const lane = await openLane({ faults: [{ kinds: [kind], at, errno, effect: 'none', count: 99 }] })
    const { log, world } = lane
    const appended = world.settle(lane.append([10]))
    await appended.catch(() => undefined)
    const synced = await world.settle(
      log.sync().then(
        () => 'synced',
        () => 'failed',
      ),
    )
    expect(synced === 'failed' || lane.failures.length > 0).toBe(true)
  }
})

test('a segment that is forgotten is gone when the next sync has made its name durable', async () => {
  const lane = await openLane()
  for (let i = 0; i < 12; i++) await lane.world.settle(lane.append([3000]))
  lane.log.pad(1)
  await lane.world.settle(lane.log.sync())
  await lane.world.settle(lane.log.forget(0))
  const before = [...lane.disk.crashStates()].map(({ image }) =>
    image.files().includes(`lane/${segmentName(0)}`),
  )
  expect(before).toContain(true)
  await lane.world.settle(lane.log.sync())
  const after = [...lane.disk.crashStates()].map(({ image }) =>
    image.files().includes(`lane/${segmentName(0)}`),
  )
  expect(after).not.toContain(true)
})

test.each(['none', 'all'] as const)(
  'a segment that a full disk does not release, with the effect %s, can be asked to go again',
  async (effect) => {
    const lane = await openLane({ faults: [{ kinds: ['unlink'], at: 1, errno: 'ENOSPC', effect }] })
    const { log, world, disk } = lane
    await world.settle(lane.append([100]))
    await world.settle(log.sync())
    expect(await world.settle(codeOf(log.forget(0)))).toBe('DISK_FULL')
    await world.settle(log.forget(0))
    expect(disk.image.files().filter((path) => path.endsWith(segmentName(0)))).toEqual([])
    expect(lane.failures).toEqual([])
  },
)

test('a group that no segment of the lane can hold is refused, not written over the end', async () => {
  const lane = await openLane()
  const { log, world } = lane
  const bytes = frameBytes(segmentBytes)
  log.hasRoom(bytes)
  await world.run()
  expect(() => log.open(bytes, 1)).toThrow('segment')
})

test('what is written into room that a failed sync has left outlives the next loss of power', async () => {
  const append = async ({ world, append: one }: Lane, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await world.settle(one([1000]))
  }
  let readCount = 0
  // Whatever lengths the file has had: durable, called clean, and of what is written then.
  for (let synced = 1; synced <= 16; synced += 3)
    for (let more = 1; more <= 8; more += 2) {
      const first = await openLane()
      await append(first, synced)
      const end = first.log.pad(1)
      await first.world.settle(first.log.sync())
      await append(first, more)
      first.disk.arm([{ kinds: ['sync'], at: 1, errno: 'EIO', effect: 'all' }])
      expect(await codeOf(first.world.settle(first.log.sync()))).toBe('DISK_FAILED')

      // The same boot.
      const second = await openLane({ image: first.disk.image }, end)
      await append(second, more)
      const later = second.log.pad(1)
      await second.world.settle(second.log.sync())
      const told = await readBack(second, born, later)
      for (const { image } of second.disk.crashStates()) {
        const third = await openLane({ image }, later)
        expect(await readBack(third, born, later)).toEqual(told)
        readCount++
      }
    }
  expect(readCount).toBeGreaterThan(0)
})
