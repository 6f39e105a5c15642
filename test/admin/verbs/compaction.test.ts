/** `hold` does not keep what it has passed over. */
import { expect, test } from 'vitest'
import type { QueueOptions } from '../../../src/engine/life/options.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import type { NumberedOperation } from '../../../src/sim/disk/sim-disk.js'
import { empty, fill, mail, simulated, submission, type Stage } from '../../engine/stage.js'

const count = 1500
const segmentBytes = 16 * 4096
/** Checkpoints are those of the verbs: each pads hold to a block, and how many there are is not the
 * clock's to say. */
const patient: Partial<QueueOptions> = {
  retry: fixedRetry([1_000_000_000], 5_000_000_000),
  deliver: false,
  checkpointIntervalMs: 3_600_000,
}

const segmentsOfHold = (stage: Stage): number =>
  stage.queue.stats().lanes.find(({ kind }) => kind === 'hold')!.segmentCount

/** So many messages on hold, one in twenty of them to be kept. */
async function heldQueue(stage: Stage): Promise<void> {
  const queue = await stage.open(patient)
  const submitted = Array.from({ length: count }, (_, i) =>
    queue.submit({ ...submission(), sender: i % 20 === 0 ? 'keep@example.org' : 'drop@example.org' }),
  )
  await Promise.all(submitted)
  expect(await queue.hold({ all: true })).toMatchObject({ messageCount: count, missedCount: 0 })
}

const heldIds = async (stage: Stage): Promise<string[]> => {
  const ids: string[] = []
  for await (const { id } of stage.queue.list({ lane: 'hold' })) ids.push(id)
  return ids.sort()
}

test('when most of what was on hold has gone, its segments go, and what is left stays on hold', async () => {
  await simulated(async (stage) => {
    await heldQueue(stage)
    const before = segmentsOfHold(stage)
    expect(before).toBeGreaterThan(8)
    expect(await stage.queue.delete({ sender: 'drop@example.org' })).toMatchObject({
      messageCount: count * 0.95,
    })
    const kept = await heldIds(stage)
    expect(kept).toHaveLength(count / 20)
    await stage.until('the segments are gone', async () => {
      // A verb that finds nothing ends with a checkpoint.
      await stage.queue.release({ id: 'none' })
      return segmentsOfHold(stage) <= 4
    })
    expect(await heldIds(stage)).toEqual(kept)
    await stage.open(patient)
    expect(await heldIds(stage)).toEqual(kept)
  })
})

/** The first one stays on hold, the others are deleted: waits until their segments are gone.
 * @returns what is left */
async function deleteAllButFirst(stage: Stage): Promise<string[]> {
  expect(segmentsOfHold(stage)).toBeGreaterThan(8)
  await stage.queue.delete({ sender: 'drop@example.org' })
  await stage.until('the segments are gone', async () => {
    await stage.queue.release({ id: 'none' })
    return segmentsOfHold(stage) <= 4
  })
  return heldIds(stage)
}

const keepOne = (i: number): string => (i === 0 ? 'keep@example.org' : 'drop@example.org')

test('what was put on hold message by message, each in a block of its own, goes as well', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open(patient)
    const ids: string[] = []
    for (let i = 0; i < 60; i++) {
      const { id } = await queue.submit({ ...submission(), sender: keepOne(i) })
      await queue.hold({ id })
      ids.push(id)
    }
    expect(await deleteAllButFirst(stage)).toEqual(ids.slice(0, 1))
  })
})

test('data that is held by one message of many goes, though the envelopes are few', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open(patient)
    const data = mail('x'.repeat(900).concat('\r\n').repeat(4))
    const submitted = Array.from({ length: 100 }, (_, i) =>
      queue.submit({ ...submission('a@example.net', data), sender: keepOne(i) }),
    )
    const ids: string[] = (await Promise.all(submitted)).map(({ id }) => id)
    await queue.hold({ all: true })
    expect(await deleteAllButFirst(stage)).toEqual(ids.slice(0, 1))
  })
})

test('envelopes with thousands of recipients go as well, though they are few', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ ...patient, segmentBytes: 4_194_304, laneSegmentBytes: 1_048_576 })
    const recipients = Array.from(
      { length: 12_000 },
      (_, i) => `a-recipient-with-the-number-${i}@example.net`,
    )
    const ids: string[] = []
    for (let i = 0; i < 20; i++) {
      const { id } = await queue.submit({ ...submission(), recipients, sender: keepOne(i) })
      await queue.hold({ id })
      ids.push(id)
    }
    expect(await deleteAllButFirst(stage)).toEqual(ids.slice(0, 1))
  })
})

test('data goes also when the message that stays has its own in a file', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open(patient)
    const data = mail('x'.repeat(900).concat('\r\n').repeat(4))
    const { id } = await queue.submit({ ...submission('a@example.net', data.repeat(4)), sender: keepOne(0) })
    const submitted = Array.from({ length: 100 }, () =>
      queue.submit({ ...submission('a@example.net', data), sender: keepOne(1) }),
    )
    await Promise.all(submitted)
    await queue.hold({ all: true })
    expect(await deleteAllButFirst(stage)).toEqual([id])
    expect(await stage.spoolFiles()).toHaveLength(1)
  })
})

test('a crash at any time of a compaction leaves each message on hold once', async () => {
  for (const afterMs of [1, 5, 20, 50, 120, 300, 700, 1500, 3000])
    await simulated(async (stage) => {
      await heldQueue(stage)
      await stage.queue.delete({ sender: 'drop@example.org' })
      const kept = await heldIds(stage)
      await new Promise<void>((resolve) => stage.clock.after(afterMs, resolve))
      await stage.open(patient)
      // What a recovery found on its way into the lane is active until it is there again.
      expect(await stage.ids()).toEqual(kept)
      await stage.until('all are on hold', () => stage.queue.stats().activeCount === 0)
      expect(await heldIds(stage)).toEqual(kept)
      expect(stage.attempts).toEqual([])
    })
})

test('a compaction gives way to a verb on many, which then finds them where they wait', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open(patient)
    const submitted = Array.from({ length: 3000 }, (_, i) =>
      queue.submit({ ...submission(), sender: i % 3 === 0 ? 'keep@example.org' : 'drop@example.org' }),
    )
    await Promise.all(submitted)
    await queue.hold({ all: true })
    let movedCount = 0
    queue.on('requeued', ({ lane }) => {
      if (lane === 1) movedCount++
    })
    await queue.delete({ sender: 'drop@example.org' })
    await stage.until('it compacts', () => movedCount > 0)
    // One message is found again: nothing gives way to that, nor is another compaction begun.
    await queue.hold({ id: 'none' })
    const before = movedCount
    expect(await queue.requeue({ sender: 'keep@example.org' })).toMatchObject({
      messageCount: 1000,
      missedCount: 0,
    })
    expect(before).toBeLessThan(1000)
    // What was under way goes on: two batches, at the most.
    expect(movedCount - before).toBeLessThan(512)
    expect(stage.warnings).toEqual([])
  })
})

/** How many messages a compaction has moved, from here on. */
function countMoves(stage: Stage): () => number {
  let movedCount = 0
  stage.queue.on('requeued', ({ lane }) => {
    if (lane === 1) movedCount++
  })
  return () => movedCount
}

test('a compaction that gave way goes on when the verb has ended', async () => {
  await simulated(async (stage) => {
    await heldQueue(stage)
    const { queue } = stage
    const movedCount = countMoves(stage)
    await queue.delete({ sender: 'drop@example.org' })
    await queue.delete({ sender: 'nobody@example.org' })
    const before = movedCount()
    expect(before).toBeLessThan(count / 20)
    await stage.until('it has ended', async () => {
      await queue.release({ id: 'none' })
      return segmentsOfHold(stage) <= 4
    })
    expect(movedCount()).toBe(count / 20)
  })
})

/** Time for a compaction, if there is one: the disk does more for each verb than that needs. */
async function settle({ queue }: Stage): Promise<void> {
  for (let i = 0; i < 20; i++) await queue.hold({ id: 'none' })
}

test.each<[string, number, (i: number) => boolean]>([
  ['most of what little there is', 30, (i) => i % 20 === 0],
  ['less than half of it', 1500, (i) => i % 3 > 0],
])('hold is left alone when %s has gone', async (_, heldCount, isKept) => {
  await simulated(async (stage) => {
    const queue = await stage.open(patient)
    const submitted = Array.from({ length: heldCount }, (_, i) =>
      queue.submit({ ...submission(), sender: isKept(i) ? 'keep@example.org' : 'drop@example.org' }),
    )
    await Promise.all(submitted)
    await queue.hold({ all: true })
    const movedCount = countMoves(stage)
    await queue.delete({ sender: 'drop@example.org' })
    await settle(stage)
    expect(movedCount()).toBe(0)
  })
})

test('what waits on hold is read again for a compaction only when twice as much has gone', async () => {
  let readCount = 0
  const before = ({ operation }: NumberedOperation): void => {
    if (operation.kind === 'read' && operation.path.startsWith('lanes/1/')) readCount++
  }
  await simulated(
    async (stage) => {
      await heldQueue(stage)
      const { queue } = stage
      const ids = await heldIds(stage)
      for (const id of ids.slice(0, 10)) await queue.delete({ id })
      await settle(stage)
      readCount = 0
      await settle(stage)
      expect(readCount).toBe(0)
    },
    { disk: { observer: { before } } },
  )
})

test('hold is left alone while the disk has no room for what waits there, and compacted when it has', async () => {
  await simulated(async (stage) => {
    await heldQueue(stage)
    const { queue } = stage
    const movedCount = countMoves(stage)
    // Segments of the journal that go later would be room.
    await settle(stage)
    // A segment of the journal is for others, and the rest is too little.
    fill(stage, segmentBytes + 4096)
    await queue.delete({ sender: 'drop@example.org' })
    await settle(stage)
    expect(movedCount()).toBe(0)
    expect(stage.warnings).toEqual([])
    empty(stage)
    await settle(stage)
    expect(movedCount()).toBeGreaterThanOrEqual(count / 20)
  })
})
