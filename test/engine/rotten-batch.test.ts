/** Rot in the last batch of the journal, which a start takes for torn: it costs what was told in
 * that batch and nothing else. */
import { expect, test } from 'vitest'
import { nowhere, position } from '../../src/base/position.js'
import type { Transport } from '../../src/delivery/transport.js'
import type { QueueOptions } from '../../src/engine/life/options.js'
import { QueueDirectory } from '../../src/inspect/queue/queue-directory.js'
import { takeSnapshot } from '../../src/inspect/queue/snapshot.js'
import { segmentName } from '../../src/log/segment.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import type { Operation } from '../../src/sim/disk/operation.js'
import { SimDisk, type DiskObserver } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { deferred, delivered, mail, patient, pause, simulated, submission, type Stage } from './stage.js'

/** Turns over a bit of the last batch's first frame. */
async function rotLastBatch(disk: SimDisk): Promise<void> {
  const directory = await QueueDirectory.open(disk, () => undefined)
  // The queue lives, and may have written a batch meanwhile.
  let { journal } = await takeSnapshot(directory!)
  for (let before = nowhere; before !== journal.end;) {
    before = journal.end
    journal = (await takeSnapshot(directory!)).journal
  }
  const { grid } = journal.files
  const offset = grid.offsetOf(position(journal.end - journal.lastBatchBytes))
  disk.image.flipBit(`journal/${segmentName(journal.newest)}`, offset + 20, 0)
}

test('what a checkpoint gave free is there as long as rot in its batch could bring back the one before', async () => {
  let recycledCount = 0
  for (let count = 1; count <= 24; count++)
    await simulated(
      async (stage) => {
        stage.answer = () => deferred
        const queue = await stage.open(patient)
        const ids: string[] = []
        for (let i = 0; i < count; i++) {
          const { id } = await queue.submit(submission('one@example.net', mail('x\r\n'.repeat(2500))))
          ids.push(id)
          await stage.until('it waits', () => queue.stats().activeCount === 0)
        }
        await queue.release({ id: 'none' })
        if (!stage.disk!.image.files().includes(`journal/${segmentName(0)}`)) recycledCount++
        await rotLastBatch(stage.disk!)
        await stage.open(patient)
        // A listing does not wait for a checkpoint for ever, and timers overtake the disk here.
        const all = ids.sort().join()
        await stage.until(`all ${count} are there`, async () => (await stage.ids()).join() === all, 3_600_000)
        expect([count, stage.warnings]).toEqual([count, []])
      },
      { seed: count },
    )
  expect(recycledCount).toBeGreaterThan(5)
})

const large = mail('grace and ada\r\n'.repeat(4000))

test('large mail whose finish rots in the last batch is delivered again, with its data', async () => {
  await simulated(async (stage) => {
    stage.answer = () => delivered
    const queue = await stage.open({ ...patient, checkpointIntervalMs: 3_600_000 })
    await queue.submit(submission('one@example.net', large))
    await queue.idle()
    await pause(stage, 60_000)
    expect(await stage.spoolFiles()).toHaveLength(1)
    await rotLastBatch(stage.disk!)
    const next = await stage.open()
    await next.idle()
    expect(stage.told('delivered')).toEqual(['one@example.net', 'one@example.net'])
    expect([...stage.data.values()]).toEqual([large])
    expect(stage.warnings).toEqual([])
  })
})

/** Lives that end in the middle of what they do. */
function mortal() {
  let onCall: (call: Operation) => void = () => undefined
  /** @returns whether it came to that call */
  const dies = (
    stage: Stage,
    options: Partial<QueueOptions>,
    isIt: (call: Operation) => boolean,
  ): Promise<boolean> => {
    const isDead = new Promise<boolean>((resolve) => {
      onCall = (call) => {
        if (!isIt(call)) return
        onCall = () => undefined
        stage.disk!.abandon()
        resolve(true)
      }
    })
    // Where it dies it answers nobody.
    stage.open(options).catch(() => undefined)
    return Promise.race([isDead, rest(stage).then(() => false)])
  }
  return { dies, observer: { after: ({ operation }) => onCall(operation) } satisfies DiskObserver }
}

/** It has its segment, and no batch in it. */
const isSegmentMade = (call: Operation): boolean => call.kind === 'rename' && call.to.endsWith('.log')

/** The disk catches up meanwhile. */
async function rest(stage: Stage): Promise<void> {
  for (let i = 0; i < 300; i++) await pause(stage, 10)
}

/** The same where the life has died. */
async function rotBehindDeath({ disk }: Stage): Promise<void> {
  const world = new SimWorld({ seed: 0 })
  await world.settle(rotLastBatch(new SimDisk(world, { image: disk!.image })))
}

test.each([0, 1])(
  'also where a start has found that finish, and was killed before it had a batch of its own, as were %i before it',
  async (before) => {
    for (let seed = 0; seed < 60; seed++) {
      const { dies, observer } = mortal()
      await simulated(
        async (stage) => {
          await stage.open({ ...patient, checkpointIntervalMs: 3_600_000 })
          await stage.queue.submit(submission('one@example.net', large))
          await stage.queue.idle()
          await pause(stage, 60_000)
          for (let i = 0; i < before; i++) expect(await dies(stage, patient, isSegmentMade)).toBe(true)
          const isUnlinked = ({ kind, path }: Operation): boolean =>
            kind === 'unlink' && path.startsWith('spool/')
          expect(await dies(stage, patient, isUnlinked)).toBe(true)
          await rotBehindDeath(stage)
          await (await stage.open(patient)).idle()
          expect(stage.warnings, `seed ${seed}`).toEqual([])
        },
        { seed, disk: { observer } },
      )
    }
  },
)

test.each([0, 1])(
  'a lane that the rotten batch retired is there as long as rot could bring it back, with %i more such lives',
  async (more) => {
    let removedCount = 0
    const later = { retry: fixedRetry([700]) }
    for (let batches = 1; batches <= 8; batches++) {
      const { dies, observer } = mortal()
      await simulated(
        async (stage) => {
          stage.answer = (_, { attempts }) => (attempts === 0 ? deferred : delivered)
          await stage.open({ retry: fixedRetry([100]) })
          await stage.queue.submit(submission('one@example.net'))
          await stage.until('it is delivered', () => stage.told('delivered').length === 1)
          await rest(stage)
          let count = 0
          const isBatch = ({ kind, path }: Operation): boolean =>
            kind === 'writeSynced' && path.startsWith('journal/') && ++count === batches
          await dies(stage, later, isBatch)
          for (let i = 0; i < more; i++) await dies(stage, later, isSegmentMade)
          const isRemoved = ({ kind, path }: Operation): boolean =>
            kind === 'removeDirectory' && path === 'lanes/2'
          if (!(await dies(stage, later, isRemoved))) return
          removedCount++
          await rotBehindDeath(stage)
          await (await stage.open(later)).idle()
          expect(stage.warnings).toEqual([])
        },
        { disk: { observer } },
      )
    }
    expect(removedCount).toBeGreaterThan(0)
  },
)

test('the files of a queue that has come to rest go, by one checkpoint and another, and no more are taken', async () => {
  await simulated(async (stage) => {
    stage.answer = () => delivered
    const queue = await stage.open()
    await queue.idle()
    const { checkpointCount } = queue.stats().journal
    await Promise.all(['a', 'b', 'c'].map((name) => queue.submit(submission(`${name}@example.net`, large))))
    await stage.until('their files are gone', async () => (await stage.spoolFiles()).length === 0)
    await pause(stage, 3_600_000)
    expect(queue.stats().journal.checkpointCount - checkpointCount).toBeLessThanOrEqual(4)
    expect(await stage.isEmpty()).toBe(true)
  })
})

test('also where the last finish shares its batch with the record of a checkpoint', async () => {
  for (let seed = 0; seed < 60; seed++)
    await simulated(
      async (stage) => {
        let count = 0
        const deliver: Transport['deliver'] = async ({ recipients }) => {
          await pause(stage, 30 + ((seed * 7 + count++ * 3) % 60))
          return recipients.map(() => delivered)
        }
        const queue = await stage.open({ ...patient, transports: { out: { deliver } } })
        for (let i = 0; i < 5; i++) void queue.submit(submission(`${i}@example.net`))
        await queue.submit(submission('large@example.net', large))
        await queue.idle()
        await pause(stage, 3_600_000)
        expect(await stage.spoolFiles(), `seed ${seed}`).toEqual([])
      },
      { seed },
    )
})
