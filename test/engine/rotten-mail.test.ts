/** Mail of which something has rotted, or that meets a mistake of ours: it is retried later, and
 * the rest goes on. */
import { expect, test, vi } from 'vitest'
import { composeReport } from '../../src/bounce/report.js'
import type { Selector } from '../../src/admin/select/selector.js'
import { WaybillError } from '../../src/errors.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import type { Queue } from '../../src/queue.js'
import type { Fault } from '../../src/sim/disk/faults.js'
import {
  codeOf,
  deferred,
  delivered,
  failed,
  gate,
  mail,
  patient,
  pause,
  simulated,
  submission,
  type Stage,
} from './stage.js'

vi.mock('../../src/bounce/report.js', async (original) => {
  const there = await original<typeof import('../../src/bounce/report.js')>()
  const compose: typeof composeReport = (input) => {
    if (input.originalSender === 'clumsy@example.org') throw new TypeError('a mistake of ours')
    return there.composeReport(input)
  }
  return { ...there, composeReport: compose }
})

const secondMs = 1000
const hourMs = 3600 * secondMs

const accidents = (stage: Stage): unknown[] => stage.crashes.filter((error) => error !== undefined)

/** Turns over a bit of every such text in the lanes. @returns how many there were */
function rot(stage: Stage, text = 'ROTTEN', paths = /^lanes.*data.*\.log$/): number {
  const { image } = stage.disk!
  let count = 0
  for (const path of image.files()) {
    if (!paths.test(path)) continue
    const { cached } = image.file(path)
    const bytes = Buffer.alloc(cached.lengthBytes)
    cached.read(bytes, 0)
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
      image.flipBit(path, at, 0)
      count++
    }
  }
  return count
}

async function listed(queue: Queue, selector: Selector): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of queue.list(selector)) ids.push(id)
  return ids
}

const retryMs = 60 * secondMs
const lifetimeMs = 10 * hourMs
const retry = fixedRetry([retryMs], lifetimeMs)

/** So many messages in a retry lane whose data has rotted there. */
async function leaveRotten(stage: Stage, count: number): Promise<void> {
  stage.answer = () => deferred
  const queue = await stage.open({ retry })
  for (let i = 0; i < count; i++) await queue.submit(submission(`r${i}@rotten.test`, mail(`${i} ROTTEN`)))
  await stage.until('they are deferred', () => stage.told('deferred').length === count)
  await stage.until('they wait', () => queue.stats().activeCount === 0)
  await queue.release({ id: 'none' })
  expect(rot(stage)).toBeGreaterThanOrEqual(count)
  stage.answer = () => delivered
}

test.each([0, 1, 2, 3, 4, 5, 6, 7])(
  'more messages whose data has rotted than may be active do not keep other mail from going, seed %d',
  async (seed) => {
    // Messages that are retried later give their places to others, as many as may be active.
    const activeCountMax = 3
    const count = 2 * activeCountMax - 1
    await simulated(
      async (stage) => {
        await leaveRotten(stage, count)
        const queue = await stage.open({ retry, activeCountMax })
        await pause(stage, 2 * retryMs)
        await queue.submit(submission('good@example.net'))
        await stage.until(
          'it is delivered',
          () => stage.told('delivered').includes('good@example.net'),
          10 * retryMs,
        )
        expect(await stage.ids()).toHaveLength(count)
        expect(accidents(stage)).toEqual([])
      },
      { seed },
    )
  },
)

test('a message whose data has rotted is told of now and then, and when it is too old its sender is', async () => {
  await simulated(async (stage) => {
    await leaveRotten(stage, 1)
    await stage.open({ retry })
    await pause(stage, 5 * hourMs)
    expect(stage.warnings.length).toBeGreaterThan(2)
    expect(stage.warnings.length).toBeLessThan(12)
    expect(await stage.ids()).toHaveLength(1)
    await pause(stage, 7 * hourMs)
    expect(await stage.isEmpty()).toBe(true)
    expect(stage.told('delivered')).toEqual(['ada@example.org'])
    expect(accidents(stage)).toEqual([])
  })
})

test('a message whose data has rotted is deleted when the operator says so', async () => {
  await simulated(async (stage) => {
    await leaveRotten(stage, 1)
    const queue = await stage.open({ retry })
    await stage.until('it is told', () => stage.warnings.length > 1, 2 * retryMs)
    await queue.idle()
    expect(await codeOf(queue.requeue({ all: true }))).toBe('accepted')
    expect(await stage.ids()).toHaveLength(1)
    expect(await queue.delete({ all: true })).toMatchObject({ messageCount: 1 })
    expect(await stage.isEmpty()).toBe(true)
  })
})

test('a message whose envelope has rotted while it was active is counted, and who means every message is told of it', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    let queue = await stage.open({ retry })
    await queue.submit(submission('one@rotten.test'))
    await stage.until(
      'it waits',
      () => stage.told('deferred').length === 1 && queue.stats().activeCount === 0,
    )
    await queue.release({ id: 'none' })
    const { transports } = gate()
    queue = await stage.open({ retry, transports })
    await stage.until('it is attempted again', () => queue.stats().activeCount === 1, 2 * retryMs)
    await queue.release({ id: 'none' })
    expect(queue.stats().damagedCount).toBe(0)
    expect(rot(stage, 'rotten.test', /^lanes.*envelopes.*\.log$/)).toBe(1)
    for (let life = 1; life <= 2; life++) {
      queue = await stage.open({ ...patient, deliver: false })
      await stage.until('recovery ends', () => !queue.stats().recovering)
      expect(stage.warnings).toEqual(Array.from({ length: life }, () => 'LOG_CORRUPT'))
      expect(queue.stats()).toMatchObject({ activeCount: 0, damagedCount: 1 })
      for (const selector of [{}, { all: true as const }, { lane: 'active' as const }])
        await expect(listed(queue, selector)).rejects.toMatchObject({
          code: 'LIST_INCOMPLETE',
          message: expect.stringMatching(/^not listed: 1 message that the recovery could not read/) as string,
          place: { log: 'lane 2 envelopes', segment: 0 },
        })
      expect(await listed(queue, { lane: 'deferred' })).toEqual([])
      expect(await queue.delete({ all: true })).toMatchObject({ messageCount: 0, failedCount: 1 })
      expect(await queue.expire({ lane: 'active' })).toMatchObject({ messageCount: 0, failedCount: 1 })
      expect(await queue.delete({ lane: 'hold' })).toMatchObject({ failedCount: 0 })
      expect(await queue.release({ all: true })).toMatchObject({ failedCount: 0 })
      expect(await queue.delete({ sender: 'ada@example.org' })).toMatchObject({ failedCount: 0 })
    }
    expect(accidents(stage)).toEqual([])
  })
})

test('what waits on hold before a damaged place is listed, and can be released', async () => {
  await simulated(async (stage) => {
    let queue = await stage.open({ ...patient, deliver: false })
    for (const name of ['a', 'b', 'rotten', 'behind']) {
      await queue.submit({ ...submission(`${name}@example.net`), sender: `${name}@example.org` })
      await queue.hold({ sender: `${name}@example.org` })
    }
    stage.answer = () => delivered
    queue = await stage.open(patient)
    expect(rot(stage, 'rotten@example.net', /^lanes.1.envelopes/)).toBe(1)
    const seen: string[] = []
    const listing = async (): Promise<void> => {
      for await (const { recipients } of queue.list()) seen.push(...recipients)
    }
    expect(await codeOf(listing())).toBe('LOG_CORRUPT')
    expect(seen).toEqual(['a@example.net', 'b@example.net'])
    expect(await codeOf(queue.release({ all: true }))).toBe('LOG_CORRUPT')
    await stage.until('they go', () => stage.told('delivered').length === 2)
    expect(stage.told('delivered').sort()).toEqual(['a@example.net', 'b@example.net'])
  })
})

test.each([
  ['once', 1],
  ['three times', 3],
  ['all day', Infinity],
])(
  'a message whose envelope the device refuses from a recovery on, %s, is taken up in the minute in which it is read',
  async (_, count) => {
    const faults: Fault[] = []
    const scene = async (stage: Stage): Promise<void> => {
      stage.answer = () => deferred
      let queue = await stage.open({ retry })
      await queue.submit(submission('one@example.net'))
      await stage.until('it is put off', () => stage.told('deferred').length === 1)
      await stage.until('it waits', () => queue.stats().activeCount === 0)
      await queue.release({ id: 'none' })
      queue = await stage.open({ retry, transports: gate().transports })
      await stage.until('it is attempted again', () => queue.stats().activeCount === 1, 2 * retryMs)
      await queue.release({ id: 'none' })
      stage.answer = () => delivered
      // The first reading is that of the segment's header; the one of the recovery is tried with
      // what is read ahead, and alone.
      faults.push({ kinds: ['read'], under: 'lanes/2/envelopes', at: 2, errno: 'EIO', count: count + 1 })
      queue = await stage.open({ retry })
      faults.pop()
      await stage.until('recovery ends', () => !queue.stats().recovering)
      expect(queue.stats()).toMatchObject({ activeCount: 0, damagedCount: 1 })
      await queue.submit(submission('other@example.net'))
      for (let minute = 0; minute < 5; minute++) {
        const isDelivered = stage.told('delivered').includes('one@example.net')
        expect([minute, isDelivered]).toEqual([minute, minute >= count])
        expect(queue.stats().damagedCount).toBe(isDelivered ? 0 : 1)
        await pause(stage, minute === 0 ? retryMs + secondMs : retryMs)
      }
      expect(stage.warnings).toEqual(['DISK_FAILED'])
      expect(accidents(stage)).toEqual([])
      await stage.open({ retry })
      await stage.until('nothing is left', () => stage.isEmpty(), 3 * retryMs)
      expect(stage.told('delivered').toSorted()).toEqual(['one@example.net', 'other@example.net'])
    }
    // A seed in which no timer overtakes what the disk does.
    await simulated(scene, { seed: 1, disk: { faults } })
  },
)

test('of a delay that was told before a device refused the envelope, nobody is told again', async () => {
  const faults: Fault[] = []
  const warning = { ...retry, delayWarningAgesMs: [0] }
  await simulated(
    async (stage) => {
      stage.answer = (_, { sender }) => (sender === '' ? delivered : deferred)
      let queue = await stage.open({ retry: warning })
      await queue.submit(submission('one@example.net'))
      await stage.until('it is told', () => stage.told('delivered').length === 1)
      await stage.until('it waits', () => queue.stats().activeCount === 0)
      await queue.release({ id: 'none' })
      queue = await stage.open({ retry: warning, transports: gate().transports })
      await stage.until('it is attempted again', () => queue.stats().activeCount === 1, 2 * retryMs)
      await queue.release({ id: 'none' })
      faults.push({ kinds: ['read'], under: 'lanes/2/envelopes', at: 2, errno: 'EIO', count: 2 })
      await stage.open({ retry: warning })
      faults.pop()
      await stage.until('it is attempted', () => stage.told('deferred').length === 3, 5 * retryMs)
      expect(stage.warnings).toEqual(['DISK_FAILED'])
      expect(stage.told('delivered')).toEqual(['ada@example.org'])
    },
    { disk: { faults } },
  )
})

test('a lane that no policy names stays for mail that a recovery puts there again, also where the device refuses to show it', async () => {
  const places: string[] = []
  for (let at = 1; at <= 20; at++)
    await simulated(async (stage) => {
      stage.answer = () => deferred
      const first = await stage.open({ retry: fixedRetry([10 * hourMs]), checkpointIntervalMs: hourMs })
      await first.submit(submission('one@example.net'))
      await stage.until('it is put off', () => first.stats().activeCount === 0 && stage.attempts.length === 1)
      // What says so is durable with this, and the lane is not trusted yet.
      await first.submit(submission('other@example.net'))
      const opened = stage.open({ retry })
      stage.disk!.arm([{ kinds: ['read'], under: 'journal', at, errno: 'EIO', effect: 'none', count: 2 }])
      const queue = await opened.catch(() => undefined)
      if (queue === undefined) return
      await stage.until('recovery ends', () => queue.isCrashed || !queue.stats().recovering)
      if (queue.isCrashed || queue.stats().damagedCount === 0) return
      await stage.until('it is read', () => queue.stats().damagedCount === 0, 2 * retryMs)
      await stage.until('it is put there', () => queue.stats().activeCount === 0, retryMs)
      for await (const { recipients, lane } of queue.list()) places.push(`${recipients[0]} ${lane}`)
    })
  expect(places.toSorted()).toEqual(['one@example.net 2', 'other@example.net 3'])
})

test('a mistake of ours about one message does not end the life, and each life after it', async () => {
  await simulated(async (stage) => {
    stage.answer = () => failed
    let queue = await stage.open(patient)
    const { id } = await queue.submit({ ...submission(), sender: 'clumsy@example.org' })
    for (let life = 0; life < 3; life++) {
      await stage.until('it is told', () => stage.warnings.length === life + 1 || stage.queue.isCrashed)
      expect(accidents(stage)).toEqual([])
      stage.answer = () => delivered
      await queue.submit(submission(`l${life}@example.net`))
      await stage.until('other mail goes', () => stage.told('delivered').includes(`l${life}@example.net`))
      expect(await stage.ids()).toEqual([id])
      queue = await stage.open(patient)
    }
    expect(stage.told('failed')).toHaveLength(1)
    await stage.until('it is told', () => stage.warnings.length === 4)
    expect(stage.warnings).toEqual(Array.from({ length: 4 }, () => 'SETTLE_DEFECT'))
    await expect(queue.expire({ all: true })).rejects.toThrow('a mistake of ours')
    expect(await queue.delete({ all: true })).toMatchObject({ messageCount: 1 })
    expect(await stage.isEmpty()).toBe(true)
  })
})

test('what a listener of `warning` throws changes nothing while a verb is at work', async () => {
  await simulated(async (stage) => {
    await leaveRotten(stage, 1)
    const queue = await stage.open({ ...patient, deliver: false })
    const thrown = new WaybillError('LOG_CORRUPT', 'of the listener')
    queue.on('warning', () => {
      throw thrown
    })
    expect(await codeOf(queue.expire({ all: true }))).not.toBe('QUEUE_CRASHED')
    expect(stage.crashes.filter((error) => error !== undefined)).toEqual([])
  })
})
