/** The journal on a simulated disk: what was told durable is there after every crash, and nothing
 * else is believed. */
import { expect, test } from 'vitest'
import type { Position } from '../../src/base/position.js'
import { isWaybillError } from '../../src/errors.js'
import type { AppendPurpose } from '../../src/log/append-purpose.js'
import { describeOperation } from '../../src/sim/disk/operation.js'
import { SimDisk, type Sabotage, type SimDiskOptions } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { findPayloads, openWriter, segmentBytes, type OpenWriter } from './fixture.js'

/** Records so long that two or three fit a segment, and some that share a batch. */
const payloadOf = (i: number): Buffer => Buffer.from(`${i}:`.padEnd(i % 4 === 0 ? 9000 : 700, 'x'))

async function begin(world: SimWorld, disk: SimDisk): Promise<OpenWriter> {
  await disk.makeDirectory('journal')
  await disk.syncDirectory('')
  const open = await openWriter(world, disk)
  open.writer.begin(Buffer.from('checkpoint'))
  return open
}

const countAll = 14

/** Appends all records, some together; `told` hears of each that is durable. */
async function appendAll(world: SimWorld, disk: SimDisk, told: (i: number) => void): Promise<void> {
  const { writer, append } = await begin(world, disk)
  const waits: Promise<void>[] = []
  for (let i = 0; i < countAll; i++) {
    const end = append(payloadOf(i))
    waits.push(writer.whenDurable(end).then(() => told(i)))
    if (i % 3 === 2) await waits.at(-1)
  }
  await Promise.all(waits)
}

async function hunt(seed: number, sabotage: readonly Sabotage[]): Promise<string[]> {
  const violations: string[] = []
  const settled: number[] = []
  const states: {
    readonly line: string
    readonly image: SimDisk['image']
    readonly settled: readonly number[]
  }[] = []
  const world = new SimWorld({ seed })
  const disk: SimDisk = new SimDisk(world, {
    sabotage,
    observer: {
      before: ({ n, operation }) => {
        if (disk.image.find('journal') === undefined) return
        for (const state of [
          ...disk.crashStates({ exhaustiveUnitsMax: 4, randomStates: 3, statesMax: 20 }),
          ...disk.killStates(),
        ])
          states.push({
            line: `seed=${seed} op=${n} ${describeOperation(operation)}`,
            image: state.image,
            settled: [...settled],
          })
      },
    },
  })
  await world.settle(appendAll(world, disk, (i) => settled.push(i)))
  for (const { line, image, settled: before } of states) {
    const found = await findPayloads(image).then(
      ({ payloads }) => payloads.map((payload) => Number.parseInt(payload, 10)),
      (error: unknown) => String(error),
    )
    const expected = Array.from({ length: found.length }, (_, i) => i)
    if (typeof found === 'string') violations.push(`${line}: ${found}`)
    else if (found.join() !== expected.join()) violations.push(`${line}: found ${found.join()}`)
    else if (before.some((i) => i >= found.length))
      violations.push(`${line}: ${found.length} of ${before.join()}`)
  }
  return violations
}

test('what was told durable is there after every crash at every call, in order, and none is called corrupt', async () => {
  for (let seed = 0; seed < 3; seed++) expect((await hunt(seed, [])).slice(0, 5)).toEqual([])
})

// That the zeroes of a spare are synced is not needed for this: it keeps later syncs free of
// metadata.
test.each<Sabotage>(['synced writes are not synced', 'syncDirectory does nothing'])(
  'a disk on which %s is found out',
  async (sabotage) => {
    expect((await hunt(1, [sabotage])).length).toBeGreaterThan(0)
  },
)

async function live(
  options: SimDiskOptions,
  body: (open: OpenWriter, world: SimWorld, disk: SimDisk) => Promise<void>,
): Promise<SimDisk> {
  const world = new SimWorld({ seed: 5, order: 'fifo' })
  const disk = new SimDisk(world, options)
  await world.settle(begin(world, disk).then((open) => body(open, world, disk)))
  return disk
}

test('a ticket appended during a sync waits for the next sync', async () => {
  const order: string[] = []
  await live({}, async ({ writer, append, durable }) => {
    await writer.whenDurable(append(Buffer.from('first of all')))
    const before = durable.length
    const early = append(Buffer.from('early'))
    const waits = [writer.whenDurable(early).then(() => order.push(`early ${durable.length - before}`))]
    // The write of the batch with `early` is under way one turn later.
    await new Promise<void>((resolve) => setImmediate(resolve))
    waits.push(
      writer
        .whenDurable(append(Buffer.from('late')))
        .then(() => order.push(`late ${durable.length - before}`)),
    )
    await Promise.all(waits)
  })
  expect(order).toHaveLength(2)
  expect(order[0]).toBe('early 1')
})

test('records appended in one turn share one sync', async () => {
  await live({}, async ({ writer, append }) => {
    await writer.whenDurable(append(Buffer.from('first of all')))
    const { syncCount } = writer.statistics
    const ends: Position[] = []
    for (let i = 0; i < 50; i++) ends.push(append(Buffer.from(`record ${i}`)))
    await Promise.all(ends.map((end) => writer.whenDurable(end)))
    expect(writer.statistics.syncCount).toBe(syncCount + 1)
  })
})

test('more than a batch holds, asked for once, is written to its end', async () => {
  await live({}, async ({ writer, append }) => {
    const ends: Position[] = []
    for (let i = 0; i < 9; i++) ends.push(append(Buffer.alloc(1000, i)))
    await writer.whenDurable(ends.at(-1)!)
    expect(writer.durableEnd).toBeGreaterThanOrEqual(ends.at(-1)!)
  })
})

test.each(['EIO', 'ENOSPC', 'SHORT'] as const)(
  'a synced write that fails with %s ends the life: everybody is told, nothing is written again',
  async (errno) => {
    const outcomes: string[] = []
    const disk = await live(
      { faults: [{ kinds: ['writeSynced'], at: 4, errno, count: 1 }] },
      async ({ writer, append, failures, durable }) => {
        const write = (i: number): Promise<void> =>
          writer.whenDurable(append(Buffer.from(`${i}`))).then(
            () => void outcomes.push('durable'),
            (error: unknown) => void outcomes.push(isWaybillError(error) ? error.code : String(error)),
          )
        for (let i = 0; i < 6; i++) await write(i)
        expect(failures).toHaveLength(1)
        expect(durable.length).toBe(outcomes.filter((outcome) => outcome === 'durable').length)
        await expect(writer.whenDurable(append(Buffer.from('after')))).rejects.toMatchObject({
          code: 'DISK_FAILED',
        })
      },
    )
    expect(outcomes).toContain('durable')
    expect(
      outcomes.slice(outcomes.indexOf('DISK_FAILED')).every((outcome) => outcome === 'DISK_FAILED'),
    ).toBe(true)
    expect(outcomes).toContain('DISK_FAILED')
    expect(disk.image.files().length).toBeGreaterThan(0)
  },
)

test('on a full disk there is no room behind what has entered a segment that is not made', async () => {
  await live({}, async ({ writer, pool, append }, world, disk) => {
    pool.keepLast(true)
    await writer.whenDurable(append(Buffer.from('first of all')))
    disk.image.leave(0)
    // What is under way appends its outcomes whether there is room or not.
    for (let i = 0; i < 12; i++) append(Buffer.alloc(7000))
    await new Promise<void>((resolve) => world.clock.after(1000, resolve))
    expect(writer.durableEnd).toBeLessThan(writer.end)
    expect(writer.room(100, 'accepted mail')).toBe('no')
  })
})

test('new mail leaves whole segments; accepted mail a checkpoint more than checkpoints do, behind what is kept', async () => {
  await live({}, async ({ writer, pool, append }, world, disk) => {
    pool.keepLast(true)
    await writer.whenDurable(append(Buffer.from('first of all')))
    await new Promise<void>((resolve) => world.clock.after(1000, resolve))
    disk.image.leave(0)
    const enter = async (index: number): Promise<void> => {
      while (writer.segmentIndex < index) await writer.whenDurable(append(Buffer.alloc(7000)))
    }
    await enter(1)
    writer.kept.keep(segmentBytes)
    expect([writer.room(100, 'new mail'), writer.room(100, 'accepted mail')]).toEqual(['yes', 'yes'])
    writer.kept.giveUp(segmentBytes)
    await enter(2)
    const most = (purpose: AppendPurpose): number => {
      let bytes = segmentBytes
      while (bytes > 0 && writer.room(bytes, purpose) !== 'yes') bytes -= 8
      return bytes
    }
    const whole = most('checkpoint')
    expect([most('new mail'), most('accepted mail')]).toEqual([0, whole - 4096])
    writer.kept.keep(100)
    expect([most('checkpoint'), most('accepted mail')]).toEqual([whole - 2 * 4096, whole - 3 * 4096])
  })
})

test('a failed sync of the directory, or a failed rename, ends the life before anything is settled in that segment', async () => {
  for (const kinds of [['syncDirectory'], ['rename']] as const)
    await live(
      { faults: [{ kinds: [...kinds], at: 4, errno: 'EIO', effect: 'none', count: 9 }] },
      async (open) => {
        const { writer, append, failures } = open
        let settled = 0
        for (let i = 0; i < 30 && failures.length === 0; i++)
          await writer.whenDurable(append(Buffer.alloc(8000))).then(
            () => settled++,
            () => undefined,
          )
        expect(failures).toHaveLength(1)
        expect(settled).toBeLessThan(30)
      },
    )
})

test('a new life begins in its own segment and names the end of the one before', async () => {
  const disk = await live({}, async ({ writer, append }) => {
    await writer.whenDurable(append(Buffer.from('one')))
  })
  const world = new SimWorld({ seed: 6, order: 'fifo' })
  disk.abandon()
  const next = new SimDisk(world, { image: disk.image })
  const { tail } = await findPayloads(disk.image)
  const open = await world.settle(openWriter(world, next, tail))
  open.writer.begin(Buffer.from('checkpoint'))
  await world.settle(open.writer.whenDurable(open.append(Buffer.from('two'))))
  next.abandon()
  const again = await findPayloads(next.image)
  expect(again.tail.index).toBe(tail.index + 1)
  expect(again.payloads).toEqual(['one', 'two'])
})

test('a journal whose last batch fills its segment to the last byte is read to its end, though there is no next one', async () => {
  const ends: number[] = []
  for (let bytes = segmentBytes - 3 * 4096; bytes < segmentBytes - 2 * 4096 - 200; bytes += 1024) {
    const disk = await live({}, async ({ writer, append }) => {
      const end = append(Buffer.alloc(bytes, 'x'))
      await writer.whenDurable(end)
      ends.push(writer.durableEnd)
    })
    disk.abandon()
    const { tail, payloads } = await findPayloads(disk.image)
    expect(payloads).toHaveLength(1)
    expect(tail.end).toBe(ends.at(-1))
  }
  expect(ends.filter((end) => end % segmentBytes === 0).length).toBeGreaterThan(0)
})

test('a wait for less than the one before is not kept waiting for more', async () => {
  const world = new SimWorld({ seed: 1 })
  const settled: string[] = []
  const life = world.settle(
    (async () => {
      const { writer, append } = await begin(world, new SimDisk(world))
      const first = append(payloadOf(1))
      const durable = writer.whenDurable(first).then(() => settled.push('first'))
      const second = append(payloadOf(2))
      const ends = [writer.whenDurable(second), writer.whenDurable(first)]
      const names = ['second', 'first again']
      const waits = ends.map((end, i) => end.then(() => settled.push(names[i]!)))
      await durable
      await Promise.all(waits)
      const third = append(payloadOf(3))
      const beyond = writer.whenDurable((third + 1_000_000) as Position).catch(() => settled.push('failed'))
      await writer.whenDurable(third).then(() => settled.push('third'))
      writer.fail(new Error('over'))
      await beyond
    })(),
  )
  await life
  expect(settled.slice(-2)).toEqual(['third', 'failed'])
  expect(settled.slice(0, 3).sort()).toEqual(['first', 'first again', 'second'])
})
