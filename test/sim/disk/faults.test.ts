import { expect, test } from 'vitest'
import type { Disk } from '../../../src/disk/disk.js'
import type { Operation } from '../../../src/sim/disk/operation.js'
import { describeOperation as line } from '../../../src/sim/disk/operation.js'
import { contentOf, refusal, write } from '../../disk/fixture.js'
import { afterPowerLoss, fates, live, overwrite, sector, writeDurably } from '../fixture.js'

async function work(disk: Disk): Promise<void> {
  await disk.makeDirectory('d')
  await writeDurably(disk, 'd/a', sector('a'))
  await disk.rename('d/a', 'd/b')
  await disk.syncDirectory('d')
  await contentOf(disk, 'd/b')
  await disk.unlink('d/b')
  await disk.list('d')
  await disk.space()
}

test('any call can be made to fail, and only that one', async () => {
  const { disk } = await live(work)
  expect(disk.callCount).toBeGreaterThan(12)
  for (let at = 1; at <= disk.callCount; at++) {
    const failed: number[] = []
    await live(
      async (on) => {
        expect(await refusal(work(on))).toBe('DISK_FAILED EIO')
      },
      {
        faults: [{ at, errno: 'EIO' }],
        observer: { after: ({ n }, error) => error !== undefined && failed.push(n) },
      },
    )
    expect(failed).toEqual([at])
  }
})

test('a short write is a failure that leaves a part', async () => {
  const { disk } = await live(
    async (on) => {
      expect(await refusal(write(on, 'a', Buffer.alloc(1_000, 'a')))).toBe('DISK_FAILED')
    },
    { faults: [{ at: 1, kinds: ['write'], errno: 'SHORT' }] },
  )
  expect(disk.image.bytes('a').toString()).toBe('a'.repeat(500))
})

test('a call that fails may have happened all the same', async () => {
  const names = new Set<string>()
  for (let seed = 0; seed < 20; seed++) {
    const { disk } = await live(
      async (on) => {
        await write(on, 'a', sector('a'))
        expect(await refusal(on.rename('a', 'b'))).toBe('DISK_FAILED EIO')
      },
      { faults: [{ at: 1, kinds: ['rename'], errno: 'EIO' }] },
      seed,
    )
    names.add(disk.image.files().join())
  }
  expect(names).toEqual(new Set(['a', 'b']))
})

test('a fault can last', async () => {
  await live(
    async (on) => {
      const file = await on.open('a', 'create')
      const outcomes: string[] = []
      for (let turn = 0; turn < 5; turn++) outcomes.push(await refusal(file.write(sector('a'), 0)))
      expect(outcomes).toEqual(['none', 'DISK_FULL ENOSPC', 'DISK_FULL ENOSPC', 'DISK_FULL ENOSPC', 'none'])
    },
    { faults: [{ at: 2, count: 3, kinds: ['write'], errno: 'ENOSPC' }] },
  )
})

test('a full device takes what fits, by the room that files take, and gives it back', async () => {
  await live(
    async (on) => {
      const first = await on.open('a', 'create')
      await first.write(Buffer.alloc(100), 0)
      expect(await on.space()).toEqual({ freeBytes: 3 * 4096, freeFiles: 1 })
      expect(await refusal(first.write(Buffer.alloc(5 * 4096), 0))).toBe('DISK_FULL ENOSPC')
      expect(await first.size()).toBe(4 * 4096)
      expect(await on.space()).toEqual({ freeBytes: 0, freeFiles: 1 })
      await first.write(Buffer.alloc(4 * 4096, 1), 0)
      await write(on, 'b', Buffer.alloc(0))
      expect(await refusal(on.open('c', 'create'))).toBe('DISK_FULL ENOSPC')
      await on.unlink('a')
      expect(await on.space()).toEqual({ freeBytes: 0, freeFiles: 0 })
      await first.close()
      expect(await on.space()).toEqual({ freeBytes: 4 * 4096, freeFiles: 1 })
    },
    { size: { capacityBytes: 4 * 4096, capacityFiles: 2 } },
  )
})

test('a flipped bit is read, and no sync or crash mends it', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.from('aaa'))
  })
  disk.image.flipBit('a', 1, 1)
  expect(disk.image.bytes('a').toString()).toBe('aca')
  expect(fates(afterPowerLoss(disk), 'a')).toEqual(['aca'])
})

test('each guarantee that is taken away is missed', async () => {
  const synced = async (on: Disk): Promise<void> => {
    await writeDurably(on, 'a', sector('o'))
    await overwrite(on, 'a', sector('y'), 0, true)
  }
  const honest = await live(synced)
  expect(fates(afterPowerLoss(honest.disk), 'a')).toEqual([sector('y').toString()])
  const noSync = await live(synced, { sabotage: ['sync does nothing'] })
  expect(fates(afterPowerLoss(noSync.disk), 'a')).toContain('')
  const noDirectory = await live(synced, { sabotage: ['syncDirectory does nothing'] })
  expect(fates(afterPowerLoss(noDirectory.disk), 'a')).toContain('gone')
  const noDsync = await live(
    async (on) => {
      await writeDurably(on, 'a', sector('o'))
      await (await on.open('a', 'synced')).write(sector('y'), 0)
    },
    { sabotage: ['synced writes are not synced'] },
  )
  expect(fates(afterPowerLoss(noDsync.disk), 'a')).toContain(sector('o').toString())
})

test('the observer sees every call twice, in order, with its place', async () => {
  const trace: string[] = []
  const note =
    (when: string) =>
    ({ n, operation }: { n: number; operation: Operation }): void => {
      trace.push(`${when} ${n} ${line(operation)}`)
    }
  await live(
    async (on) => {
      await write(on, 'a', Buffer.from('abc'))
      await on.rename('a', 'b')
    },
    { observer: { before: note('<'), after: note('>') } },
  )
  const calls = ['1 create a', '2 write a @0+3', '3 close a', '4 rename a to b']
  expect(trace).toEqual(calls.flatMap((call) => [`< ${call}`, `> ${call}`]))
})

test('a world stopped before a call leaves the call under way', async () => {
  const { disk, world } = await live(async () => undefined, {
    observer: { before: ({ operation }) => operation.kind === 'unlink' && world.stop() },
  })
  await world.settle(write(disk, 'a', Buffer.from('abc')))
  void disk.unlink('a')
  await world.run()
  expect(disk.image.files()).toEqual(['a'])
  expect(
    fates(
      Array.from(disk.killStates(), (state) => state.image),
      'a',
    ),
  ).toEqual(['abc', 'gone'])
})
