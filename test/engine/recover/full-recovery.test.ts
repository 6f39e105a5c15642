/** A start whose disk is full: what the life before had made room for can be recorded, and where
 * that is not so, waiting callers get an error. */
import { expect, test } from 'vitest'
import type { Fault } from '../../../src/sim/disk/faults.js'
import { codeOf, delivered, patient, pause, simulated, submission, type Stage } from '../stage.js'

/** Thirty messages on hold, and a life that ends while every second of them is deleted: their marks
 * are in no record. */
async function leaveMarked(stage: Stage): Promise<void> {
  const queue = await stage.open({ ...patient, deliver: false })
  for (let i = 0; i < 30; i++)
    await queue.submit({
      ...submission(`r${i}@example.net`),
      sender: `s${i % 2}@example.org`,
    })
  await queue.hold({ all: true })
  await pause(stage, 3000)
  stage.disk!.arm([{ kinds: ['sync'], under: 'lanes/1', at: 1, errno: 'EIO' }])
  expect(await codeOf(queue.delete({ sender: 's0@example.org' }))).toBe('QUEUE_CRASHED')
}

test('a start on a disk that is full to the last byte comes to its end, deletes, and delivers', async () => {
  await simulated(async (stage) => {
    await leaveMarked(stage)
    const queue = await stage.open(patient)
    // What the start gave back somebody else has taken.
    const { image } = stage.disk!
    image.size = { capacityBytes: 0, capacityFiles: 1e9 }
    await stage.until('recovery ends', () => !queue.stats().recovering)
    expect(await stage.ids()).toHaveLength(15)
    expect(await queue.delete({ recipient: 'r1@example.net' })).toMatchObject({
      messageCount: 1,
    })
    expect(await queue.release({ recipient: 'r3@example.net' })).toMatchObject({
      messageCount: 1,
    })
    await stage.until('it leaves', () => stage.told('delivered').includes('r3@example.net'))
    expect(stage.crashes).toHaveLength(1)
  })
})

test('a recovery that finds no room for its marks says so, refuses verbs and listings, and goes on when there is some', async () => {
  const faults: Fault[] = []
  await simulated(
    async (stage) => {
      await leaveMarked(stage)
      stage.answer = () => delivered
      const full: Fault = {
        kinds: ['write'],
        under: 'lanes',
        at: 1,
        errno: 'ENOSPC',
        effect: 'none',
        count: 60,
      }
      faults.push(full)
      const queue = await stage.open(patient)
      await pause(stage, 3000)
      expect(queue.stats().recovering).toBe(true)
      expect(stage.warnings).toEqual(['DISK_FULL'])
      expect(await codeOf(queue.delete({ all: true }))).toBe('DISK_FULL')
      expect(await codeOf(queue.flush({ all: true }))).toBe('DISK_FULL')
      expect(await codeOf(queue.list()[Symbol.asyncIterator]().next())).toBe('DISK_FULL')
      const { id } = await queue.submit(submission('new@example.net'))
      await stage.until('recovery ends', () => !queue.stats().recovering, 120_000)
      await stage.until('what came meanwhile leaves', () => stage.told('delivered').length === 1)
      expect(stage.attempts.map((attempt) => attempt.id)).toEqual([id])
      expect(await stage.ids()).toHaveLength(15)
      expect(stage.crashes).toHaveLength(1)
    },
    { disk: { faults } },
  )
})
