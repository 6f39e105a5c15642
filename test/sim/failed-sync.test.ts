import { expect, test } from 'vitest'
import type { Disk } from '../../src/disk/disk.js'
import type { Fault } from '../../src/sim/disk/faults.js'
import { contentOf, refusal } from '../disk/fixture.js'
import { afterPowerLoss, fates, live, sector, writeDurably } from './fixture.js'

const old = sector('o').toString()
const young = sector('y').toString()
const secondSyncFails: readonly Fault[] = [{ at: 2, kinds: ['sync'], errno: 'EIO' }]

async function writeAndFailToSync(disk: Disk): Promise<void> {
  await writeDurably(disk, 'a', sector('o'))
  const file = await disk.open('a', 'write')
  await file.write(sector('y'), 0)
  expect(await refusal(file.sync())).toBe('DISK_FAILED EIO')
}

test('after a failed sync a second one succeeds, reads return the new bytes, and power loss takes them', async () => {
  const { disk } = await live(
    async (on) => {
      await writeAndFailToSync(on)
      const file = await on.open('a', 'write')
      await file.sync()
      expect((await contentOf(on, 'a')).toString()).toBe(young)
    },
    { faults: secondSyncFails },
  )
  expect(fates(afterPowerLoss(disk), 'a')).toEqual([old, young])
})

test('the lie outlives the process: the next life reads the new bytes, syncs, and loses them', async () => {
  const { disk } = await live(writeAndFailToSync, { faults: secondSyncFails })
  const killed = Array.from(disk.killStates(), (state) => state.image)
  expect(fates(killed, 'a')).toEqual([young])
  for (const image of killed) {
    const next = await live(
      async (on) => {
        const file = await on.open('a', 'write')
        await file.sync()
      },
      { image },
    )
    expect(fates(afterPowerLoss(next.disk), 'a')).toEqual([old, young])
  }
})

test('bytes that are written again and synced survive, though they are the same', async () => {
  const { disk } = await live(
    async (on) => {
      await writeAndFailToSync(on)
      const file = await on.open('a', 'write')
      await file.write(sector('y'), 0)
      await file.sync()
    },
    { faults: secondSyncFails },
  )
  expect(fates(afterPowerLoss(disk), 'a')).toEqual([young])
})

test('writing one sector again saves that sector only', async () => {
  const { disk } = await live(
    async (on) => {
      await writeDurably(on, 'a', Buffer.alloc(1024, 'o'))
      const file = await on.open('a', 'write')
      await file.write(Buffer.alloc(1024, 'y'), 0)
      expect(await refusal(file.sync())).toBe('DISK_FAILED EIO')
      await file.write(Buffer.from('y'), 600)
      await file.sync()
    },
    { faults: secondSyncFails },
  )
  expect(fates(afterPowerLoss(disk), 'a')).toEqual([`${old}${young}`, `${young}${young}`])
})

test('a synced write that fails is readable and may be lost', async () => {
  const { disk } = await live(
    async (on) => {
      await writeDurably(on, 'a', sector('o'))
      const file = await on.open('a', 'synced')
      expect(await refusal(file.write(sector('y'), 0))).toBe('DISK_FAILED EIO')
      await file.sync()
      expect((await contentOf(on, 'a')).toString()).toBe(young)
    },
    { faults: [{ at: 1, kinds: ['writeSynced'], errno: 'EIO', effect: 'all' }] },
  )
  expect(fates(afterPowerLoss(disk), 'a')).toEqual([old, young])
})

test('a failed sync of a directory is not made good by the next', async () => {
  const { disk } = await live(
    async (on) => {
      await (await on.open('a', 'create')).close()
      expect(await refusal(on.syncDirectory(''))).toBe('DISK_FAILED EIO')
      await on.syncDirectory('')
      expect(await on.list('')).toEqual(['a'])
    },
    { faults: [{ at: 1, kinds: ['syncDirectory'], errno: 'EIO' }] },
  )
  expect(fates(afterPowerLoss(disk), 'a')).toEqual(['', 'gone'])
})

test('a sync that reports ENOSPC is a failed disk, not a full one', async () => {
  await live(
    async (on) => {
      const file = await on.open('a', 'create')
      expect(await refusal(file.sync())).toBe('DISK_FAILED ENOSPC')
      expect(await refusal(file.write(sector('y'), 0))).toBe('DISK_FULL ENOSPC')
    },
    {
      faults: [
        { at: 1, kinds: ['sync'], errno: 'ENOSPC' },
        { at: 1, kinds: ['write'], errno: 'ENOSPC' },
      ],
    },
  )
})

test('the length of a file that grew before a failed sync is not made good by the next', async () => {
  const { disk } = await live(
    async (on) => {
      await writeDurably(on, 'a', Buffer.from('old'))
      const file = await on.open('a', 'write')
      await file.write(Buffer.from('new'), 3)
      expect(await refusal(file.sync())).toBe('DISK_FAILED EIO')
      await file.sync()
    },
    { faults: secondSyncFails },
  )
  expect(fates(afterPowerLoss(disk), 'a')).toEqual(['old', 'old\0\0\0', 'oldnew'])
})
