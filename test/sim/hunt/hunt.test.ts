/** A crash hunt in small: how src/sim/ is used, and that it finds what it should. */
import { expect, test } from 'vitest'
import type { Disk } from '../../../src/disk/disk.js'
import { describeOperation as line } from '../../../src/sim/disk/operation.js'
import { SimDisk, type Sabotage } from '../../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../../src/sim/world/world.js'
import { writeDurably } from '../fixture.js'

type Acknowledge = (record: number) => void

/** One byte a record, in a file made ready under a temporary name. */
async function appendThree(disk: Disk, acknowledge: Acknowledge): Promise<void> {
  await writeDurably(disk, 'log.tmp', Buffer.alloc(512))
  await disk.rename('log.tmp', 'log')
  await disk.syncDirectory('')
  const file = await disk.open('log', 'write')
  for (let record = 1; record <= 3; record++) {
    await file.write(Buffer.of(record), record)
    await file.sync()
    acknowledge(record)
  }
}

/** Crashes at every call; what was acknowledged must be there after every crash. */
async function hunt(seed: number, sabotage: readonly Sabotage[]): Promise<string[]> {
  const violations: string[] = []
  const acknowledged: number[] = []
  const world = new SimWorld({ seed })
  const disk: SimDisk = new SimDisk(world, {
    sabotage,
    observer: {
      before: ({ n, operation }) => {
        for (const { image, describe } of [
          ...disk.crashStates({ garbage: 'written' }),
          ...disk.killStates(),
        ]) {
          const found = image.files().includes('log') ? image.bytes('log') : Buffer.alloc(0)
          const lost = acknowledged.filter((record) => found[record] !== record)
          if (lost.length > 0)
            violations.push(`seed=${seed} op=${n} ${line(operation)}: lost ${lost.join()}; ${describe()}`)
        }
      },
    },
  })
  await world.settle(appendThree(disk, (record) => acknowledged.push(record)))
  await world.settle(disk.list(''))
  return violations
}

test('a log that syncs before it acknowledges loses nothing at any call', async () => {
  for (let seed = 0; seed < 20; seed++) expect(await hunt(seed, [])).toEqual([])
})

test('a log whose sync or whose directory sync does nothing is found out', async () => {
  expect((await hunt(0, ['sync does nothing'])).length).toBeGreaterThan(0)
  expect((await hunt(0, ['syncDirectory does nothing'])).length).toBeGreaterThan(0)
})
