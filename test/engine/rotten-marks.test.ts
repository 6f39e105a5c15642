/** The record that says which envelopes of a lane were started out of order has rotted: that lane
 * stands still, whole, and all else goes on. */
import { expect, test } from 'vitest'
import type { QueueOptions } from '../../src/engine/life/options.js'
import { directoryOf, QueueDirectory } from '../../src/inspect/queue/queue-directory.js'
import { takeSnapshot } from '../../src/inspect/queue/snapshot.js'
import { segmentName } from '../../src/log/segment.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import type { Queue } from '../../src/queue.js'
import type { Fault } from '../../src/sim/disk/faults.js'
import { codeOf, deferred, delivered, pause, simulated, submission, type Stage } from './stage.js'

const intervalMs = 60_000
const retry = fixedRetry([intervalMs])

/** Turns over a bit of the lane's newest `marks` record. @returns what turns it back */
async function rot(stage: Stage, lane: number): Promise<() => void> {
  const directory = (await QueueDirectory.open(stage.disk!, () => undefined))!
  const { log, marksRecord } = (await takeSnapshot(directory)).lanes.find((view) => view.lane === lane)!
  expect(marksRecord).toBeGreaterThan(0)
  const { grid } = directory.log(log)
  const path = `${directoryOf(log)}/${segmentName(grid.indexOf(marksRecord))}`
  const turn = (): void => stage.disk!.image.flipBit(path, grid.offsetOf(marksRecord) + 17, 3)
  turn()
  return turn
}

interface Case {
  readonly lane: number
  readonly options: Partial<QueueOptions>
  /** Mail that was submitted lies in the lane. */
  readonly wait: (queue: Queue) => Promise<void>
}

const waitDeferred: Case['wait'] = async (queue) => {
  await queue.idle()
  // A verb that finds nothing ends with a checkpoint.
  await queue.release({ id: 'none' })
}

const cases: readonly (readonly [string, Case])[] = [
  ['incoming', { lane: 0, options: { deliver: false }, wait: async () => undefined }],
  [
    'hold',
    {
      lane: 1,
      options: { deliver: false },
      wait: async (queue) => void (await queue.hold({ all: true })),
    },
  ],
  ['a retry lane', { lane: 2, options: {}, wait: waitDeferred }],
  ['a retry lane in the journal', { lane: 2, options: { layout: 'single' }, wait: waitDeferred }],
]

const recipients = ['a@a.test', 'gone@b.test', 'c@c.test'] as const

/** Three messages in the lane, of which the second was taken away; the record that says so has
 * rotted while nothing ran. */
async function leaveRotten(stage: Stage, { lane, options, wait }: Case): Promise<() => void> {
  stage.answer = () => deferred
  const queue = await stage.open({ retry, ...options })
  // One after the other: of the first in the lane there would be no mark.
  for (const recipient of recipients) {
    await queue.submit(submission(recipient))
    await wait(queue)
  }
  expect(await queue.delete({ recipient: 'gone@b.test' })).toMatchObject({ messageCount: 1 })
  // In the newest segment of the journal a batch that does not verify keeps the queue from opening.
  const next = await stage.open({ retry, ...options, deliver: false })
  await next.release({ id: 'none' })
  const repair = await rot(stage, lane)
  next.crash()
  stage.answer = () => delivered
  return repair
}

const listed = async (queue: Queue): Promise<{ seen: string[]; code: string }> => {
  const seen: string[] = []
  const code = await codeOf(
    (async () => {
      for await (const message of queue.list()) seen.push(...message.recipients)
    })(),
  )
  return { seen, code }
}

test.each(cases)('%s stands still and says so when its marks have rotted', async (_, what) => {
  await simulated(async (stage) => {
    await leaveRotten(stage, what)
    const queue = await stage.open({ retry, layout: what.options.layout ?? 'lanes' })
    const before = stage.attempts.length
    await stage.until('it is told', () => stage.warnings.length > 0)
    await pause(stage, 3 * intervalMs)
    const attempted = stage.attempts.slice(before).map(({ recipient }) => recipient)
    expect(attempted.filter((recipient) => recipient !== 'late@d.test')).toEqual([])
    expect(stage.warnings).toEqual(['LOG_CORRUPT'])
    expect(queue.stats().lanes.filter(({ damage }) => damage !== undefined)).toMatchObject([
      { lane: what.lane },
    ])
    expect(stage.crashes.filter((error) => error !== undefined)).toEqual([])
  })
})

test.each(cases)('no verb starts or moves anything of %s whose marks have rotted', async (_, what) => {
  await simulated(async (stage) => {
    await leaveRotten(stage, what)
    const queue = await stage.open({ retry, ...what.options, deliver: false })
    const all = { all: true } as const
    expect(await listed(queue)).toEqual({ seen: [], code: 'LOG_CORRUPT' })
    for (const verb of [
      queue.delete(all),
      queue.requeue(all),
      queue.expire(all),
      queue.reroute(all, { nexthop: 'other.test' }),
    ])
      expect(await codeOf(verb)).toBe('LOG_CORRUPT')
    const before = stage.attempts.length
    const next = await stage.open({ retry, layout: what.options.layout ?? 'lanes' })
    for (const verb of [next.flush(all), next.delete(all), next.release(all), next.hold(all)])
      await codeOf(verb)
    await pause(stage, 3 * intervalMs)
    expect(stage.attempts.slice(before)).toEqual([])
    expect(stage.crashes.filter((error) => error !== undefined)).toEqual([])
  })
})

test.each(cases)('%s goes on where it stood when its marks are repaired, lives later', async (_, what) => {
  await simulated(async (stage) => {
    const repair = await leaveRotten(stage, what)
    const before = stage.attempts.length
    for (let life = 0; life < 3; life++) {
      const queue = await stage.open({ retry, layout: what.options.layout ?? 'lanes' })
      const accepted = Array.from({ length: 30 }, () => queue.submit(submission('late@d.test')))
      await Promise.all(accepted)
      for (let count = 0; count < 5; count++) await codeOf(queue.release({ id: 'none' }))
      // What is attempted at the end of a life is attempted again.
      await pause(stage, 1000)
    }
    repair()
    const queue = await stage.open({ retry, layout: what.options.layout ?? 'lanes' })
    await queue.release({ all: true })
    await stage.until('nothing is left', () => stage.isEmpty(), 10 * intervalMs)
    const attempted = stage.attempts.slice(before).map(({ recipient }) => recipient)
    expect(attempted.filter((recipient) => recipient !== 'late@d.test').toSorted()).toEqual([
      'a@a.test',
      'c@c.test',
    ])
    expect(attempted.filter((recipient) => recipient === 'late@d.test')).toHaveLength(90)
  })
})

test('a lane whose marks the device did not give goes on when it does', async () => {
  for (let seed = 0; seed < 8; seed++) {
    let refuses = false
    // From when mail is accepted until the lane stands.
    const refusal: Fault = {
      at: 1,
      get count() {
        return refuses ? Infinity : 0
      },
      kinds: ['read'],
      under: 'lanes/2/envelopes',
      errno: 'EIO',
      effect: 'none',
    }
    let stoodCount = 0
    await simulated(
      async (stage) => {
        const repair = await leaveRotten(stage, cases[2]![1])
        repair()
        await stage.open({ retry })
        refuses = true
        stage.queue.on('warning', ({ message }) => {
          if (!message.startsWith('lane 2 stands still')) return
          stoodCount++
          refuses = false
        })
        await stage.until('it goes on', () => stage.told('delivered').length >= 2, 10 * intervalMs)
        await pause(stage, 1000)
        expect(await stage.isEmpty()).toBe(true)
        expect(stage.told('delivered').toSorted()).toEqual(['a@a.test', 'c@c.test'])
      },
      { disk: { faults: [refusal] }, seed },
    )
    expect(stoodCount).toBe(1)
  }
})

test('mail that is deferred does not go to a lane that is damaged, when there is another', async () => {
  await simulated(async (stage) => {
    await leaveRotten(stage, cases[2]![1])
    stage.answer = (_, { attempts }) => (attempts === 0 ? deferred : delivered)
    await stage.open({ retry: fixedRetry([intervalMs, 2 * intervalMs]) })
    await stage.until('it is told', () => stage.warnings.length > 0)
    await stage.queue.submit(submission('late@d.test'))
    await pause(stage, 3 * intervalMs)
    expect(stage.told('delivered')).toEqual(['late@d.test'])
  })
})
