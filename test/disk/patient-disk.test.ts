/** Too many open files for a while: a call that can wait does, and no other failure is
 * repeated. */
import { expect, test } from 'vitest'
import type { Disk } from '../../src/disk/disk.js'
import { patientDisk } from '../../src/disk/patient-disk.js'
import type { Fault } from '../../src/sim/disk/faults.js'
import type { OperationKind } from '../../src/sim/disk/operation.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { codeOf } from '../engine/stage.js'

interface Staged {
  readonly disk: Disk
  readonly world: SimWorld
  /** Kinds of the calls that have failed. */
  readonly failed: OperationKind[]
  readonly told: string[]
}

function staged(faults: readonly Fault[]): Staged {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  const failed: OperationKind[] = []
  const observer = { fails: ({ kind }: { kind: OperationKind }) => void failed.push(kind) }
  const told: string[] = []
  const disk = patientDisk(new SimDisk(world, { faults, observer }), world.clock, ({ message }) =>
    told.push(message),
  )
  return { disk, world, failed, told }
}

const calls: readonly (readonly [OperationKind, (disk: Disk) => Promise<unknown>])[] = [
  ['create', (disk) => disk.open('file', 'create')],
  ['list', (disk) => disk.list('')],
  ['syncDirectory', (disk) => disk.syncDirectory('')],
]

test.each(calls)(
  'a %s that finds no descriptor three times is done when there is one',
  async (kind, call) => {
    const { disk, world, failed, told } = staged([{ kinds: [kind], at: 1, count: 3, errno: 'EMFILE' }])
    await world.settle(call(disk))
    expect(failed).toEqual([kind, kind, kind])
    expect(told).toHaveLength(1)
    expect(world.clock.monotonicMs()).toBeLessThan(1000)
  },
)

test.each(calls)('a %s that finds none for a minute fails', async (kind, call) => {
  const { disk, world, told } = staged([{ kinds: [kind], at: 1, count: Infinity, errno: 'EMFILE' }])
  expect(await world.settle(codeOf(call(disk)))).toBe('DISK_FAILED')
  expect(world.clock.monotonicMs()).toBeGreaterThanOrEqual(60_000)
  expect(told).toHaveLength(1)
})

test.each(calls)(
  'a %s that fails otherwise is told at once: a failed sync is never repeated',
  async (kind, call) => {
    const { disk, world, failed, told } = staged([{ kinds: [kind], at: 1, errno: 'EIO' }])
    expect(await world.settle(codeOf(call(disk)))).toBe('DISK_FAILED')
    expect([failed, told]).toEqual([[kind], []])
  },
)
