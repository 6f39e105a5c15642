/** Bugs of the engine that the crash hunt found, each with the run that showed it. */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { aftermath, runToEnd } from '../../src/sim/life/aftermath.js'
import { copyImage } from '../../src/sim/disk/copy.js'
import type { CrashState } from '../../src/sim/disk/crash-states.js'
import { DiskImage } from '../../src/sim/disk/disk-image.js'
import { exhaust } from '../../src/sim/hunt/exhaustive.js'
import { failEach } from '../../src/sim/hunt/failing.js'
import { crashes } from '../../src/sim/hunt/hunt.js'
import { QueueLife } from '../../src/sim/life/queue-life.js'
import { QueueModel } from '../../src/sim/model/queue-model.js'
import { randomRun } from '../../src/sim/hunt/random-run.js'
import {
  accepting,
  afterwards,
  carried,
  changedPolicy,
  everything,
  inOneLog,
} from '../../src/sim/workload/small-workloads.js'
import { lines } from './fixture.js'

test('an idle queue takes no more checkpoints', async () => {
  const life = new QueueLife({ seed: 1, order: 'fifo', workload: everything, model: new QueueModel() })
  expect(await life.open()).toBe(true)
  life.plan(everything.steps)
  await life.run(600_000)
  const { callCount } = life.disk
  await life.run(6_000_000)
  expect(life.disk.callCount).toBe(callCount)
})

test('a second crash while an unfinished queue is taken away leaves one that opens', async () => {
  for (const op of [17, 21, 34])
    for (const seed of [1, 2]) {
      const { findings } = await exhaust(everything, {
        seed,
        order: 'seeded',
        power: { statesMax: 4, exhaustiveUnitsMax: 1, randomStates: 1 },
        kills: true,
        secondEvery: 2,
        secondStatesMax: 2,
        more: afterwards,
        op,
      })
      expect(lines(findings)).toEqual([])
    }
})

test('a device that fails while the queue opens rejects the opening', async () => {
  const { findings } = await failEach(everything, {
    seed: 1,
    order: 'fifo',
    errno: 'EIO',
    powerEvery: 0,
    op: 25,
  })
  expect(lines(findings)).toEqual([])
})

test('mail that was settled before the first checkpoint of the queue survives', async () => {
  const { findings } = await failEach(everything, {
    seed: 1,
    order: 'fifo',
    errno: 'SHORT',
    powerEvery: 0,
    op: 7,
  })
  expect(lines(findings)).toEqual([])
})

test('a spool file that a killed life had unlinked does not come back for good', async () => {
  for (const op of [119, 120, 121]) {
    const { findings } = await failEach(everything, {
      seed: 1,
      order: 'fifo',
      errno: 'ENOSPC',
      powerEvery: 7,
      op,
    })
    expect(lines(findings)).toEqual([])
  }
})

test('a spool directory that cannot be synced ends the life', async () => {
  for (let op = 86; op <= 96; op++) {
    const { findings } = await failEach(everything, {
      seed: 1,
      order: 'fifo',
      errno: 'EIO',
      powerEvery: 0,
      op,
    })
    expect(lines(findings)).toEqual([])
  }
})

test('a report on one that failed behind one that expired is composed', async () => {
  const { findings } = await randomRun({ seed: 5, op: 120 })
  expect(lines(findings)).toEqual([])
})

test('a file is not renamed twice between two syncs of its directory', async () => {
  const { findings } = await randomRun({ seed: 236 })
  expect(lines(findings)).toEqual([])
})

test('a message that is expired after its replacement was not believed is reported on under another number', async () => {
  const { findings } = await randomRun({ seed: 226, op: 169 })
  expect(lines(findings)).toEqual([])
})

test('a spool file that came to be though its creation failed is not left behind', async () => {
  for (const op of [113, 114, 115, 116]) {
    const { findings } = await failEach(everything, {
      seed: 3,
      order: 'fifo',
      errno: 'EIO',
      effect: 'all',
      powerEvery: 0,
      op,
    })
    expect(lines(findings)).toEqual([])
  }
})

test('a lane in the journal that no policy names any more is not retired while a message from it is active', async () => {
  const { findings } = await crashes(inOneLog(carried), 1, { after: changedPolicy(carried), op: 84 })
  expect(lines(findings)).toEqual([])
})

test('a recipient that is given up behind a crash that took its delivery may be named by a report', async () => {
  const { findings } = await randomRun({ seed: 81319, op: 80 })
  expect(lines(findings)).toEqual([])
})

test('the file of a cut-off submission does not come back for good', async () => {
  const live = async (image?: DiskImage): Promise<QueueLife> => {
    const kept = image === undefined ? {} : { image }
    const life = new QueueLife({
      seed: 1,
      order: 'fifo',
      workload: accepting,
      model: new QueueModel(),
      ...kept,
    })
    expect(await life.open()).toBe(true)
    return life
  }
  const spooled = ({ disk }: QueueLife): string[] =>
    disk.image.files().filter((path) => path.endsWith('.mail'))
  const first = await live()
  const data = new PassThrough()
  const refused = first.queue!.submit({ sender: 'a@sender.test', recipients: ['ok@a.test'], data })
  refused.catch(() => undefined)
  data.write(Buffer.from('0123456789\r\n'.repeat(300)))
  first.submit(accepting.steps[0]!)
  // A checkpoint syncs the name while the client is still there.
  await first.run(5000)
  expect(spooled(first).length).toBe(1)
  data.destroy(new Error('the client is gone'))
  await first.run(6000)
  await expect(refused).rejects.toMatchObject({ code: 'DATA_INCOMPLETE' })
  // And one forgets the number.
  first.submit(accepting.steps[2]!)
  await first.run(9000)
  const [withoutPower] = first.disk.crashStates({ statesMax: 1 })
  const last = await live(withoutPower!.image)
  await last.run(5000)
  expect(spooled(last)).toEqual([])
})

test('a message of which only a report is left is not meant by where it goes', async () => {
  const { findings } = await randomRun({ seed: 920029, op: 863 })
  expect(lines(findings)).toEqual([])
})

test('a message that expired while no process lived ends, also when some of it was attempted', async () => {
  const { findings } = await randomRun({ seed: 38, op: 110 })
  expect(findings).toEqual([])
})

test('mail is not tried early when the clock is set back again', async () => {
  const { findings } = await randomRun({ seed: 114, op: 75 })
  expect(lines(findings)).toEqual([])
})

test('no attempt begins while the outcomes of others wait for room', async () => {
  for (const [seed, op] of [
    [574, 114],
    [104, 112],
  ] as const) {
    const { findings } = await randomRun({ seed, op })
    expect(lines(findings)).toEqual([])
  }
})

test('no room is made in a lane that is on its way out', async () => {
  const { findings } = await randomRun({ seed: 1929, op: 97 })
  expect(lines(findings)).toEqual([])
})

test('directories whose names no sync has brought to the disk are made again, before mail is accepted', async () => {
  for (const [errno, op] of [
    ['EIO', 10],
    ['EIO', 11],
    ['ENOSPC', 5],
  ] as const) {
    const { findings } = await failEach(everything, {
      seed: 1,
      order: 'fifo',
      errno,
      powerEvery: 10,
      more: afterwards,
      op,
    })
    expect(lines(findings)).toEqual([])
  }
})

test('a queue that never had mail opens, whatever a failed sync and a power loss bring back of what was taken away', async () => {
  const common = { seed: 1, order: 'fifo', workload: everything, mayCrash: true } as const
  const powerLossAt = async (op: number, image: DiskImage): Promise<readonly CrashState[]> => {
    let states: readonly CrashState[] = []
    const life = new QueueLife({
      ...common,
      model: new QueueModel(),
      image: copyImage(image).image,
      onOperation: ({ disk, world }, { n }) => {
        if (n !== op) return
        states = [...disk.crashStates({ exhaustiveUnitsMax: 2, randomStates: 2, statesMax: 6 })]
        world.stop()
      },
    })
    await life.open()
    return states
  }
  const faults = [{ at: 1, errno: 'EIO', kinds: ['syncDirectory'] }] as const
  let triedCount = 0
  for (const unfinished of await powerLossAt(21, new DiskImage())) {
    const second = new QueueLife({ ...common, model: new QueueModel(), image: unfinished.image, faults })
    await second.open()
    for (let op = 8; op <= 22; op++)
      for (const { image } of await powerLossAt(op, second.disk.image)) {
        const model = new QueueModel()
        await new QueueLife({ ...common, mayCrash: false, model, image }).open()
        expect(model.violations).toEqual([])
        triedCount++
      }
  }
  expect(triedCount).toBeGreaterThan(100)
})

test('a batch is not written again that has left the memory of the kernel since a start found it', async () => {
  const faults = [{ at: 5, errno: 'EIO', kinds: ['writeSynced'], effect: 'all' }] as const
  for (const seed of [1, 2, 3])
    for (let drop = 14; drop <= 20; drop++) {
      const model = new QueueModel()
      const common = { workload: everything, model, mayCrash: true } as const
      const first = new QueueLife({ ...common, seed, order: 'fifo', faults })
      await runToEnd(first, everything)
      const second = new QueueLife({
        ...common,
        seed,
        order: 'seeded',
        image: first.disk.image,
        wallStartMs: first.endedAtMs + 1,
        onOperation: ({ disk }, { n }) => {
          if (n === drop) disk.image.dropClean()
        },
      })
      await runToEnd(second, { ...everything, steps: afterwards })
      if (second.ended === undefined) second.queue!.crash()
      const { image } = second.disk
      const wallMs = second.world.clock.wallMs() + 1
      await aftermath({ seed, order: 'fifo', workload: everything, model, image, wallMs })
      expect(model.violations).toEqual([])
    }
})

test('of many large uploads at once no more have a file than a checkpoint can name', async () => {
  const model = new QueueModel()
  const life = new QueueLife({ seed: 1, order: 'fifo', workload: accepting, model })
  expect(await life.open()).toBe(true)
  const uploads = Array.from({ length: 3000 }, () => {
    const data = new PassThrough()
    data.write(Buffer.from('0123456789\r\n'.repeat(300)))
    life.queue!.submit({ sender: 'a@sender.test', recipients: ['ok@a.test'], data }).catch(() => undefined)
    return data
  })
  life.submit(accepting.steps[0]!)
  await life.run(3000)
  life.submit(accepting.steps[2]!)
  await life.run(6000)
  expect(life.ended).toBe(undefined)
  for (const data of uploads) data.destroy()
  await life.run(9000)
  expect(life.disk.image.files().filter((path) => path.endsWith('.mail'))).toEqual([])
  expect(model.violations).toEqual([])
})
