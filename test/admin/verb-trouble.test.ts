/** Verbs where things go wrong: devices that fail, mail that is damaged, messages that move on. */
import { expect, test } from 'vitest'
import type { VerbResult } from '../../src/admin/verbs/tally.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import type { Fault } from '../../src/sim/disk/faults.js'
import type { NumberedOperation } from '../../src/sim/disk/sim-disk.js'
import {
  codeOf,
  deferred,
  delivered,
  failed,
  fill,
  gate,
  mail,
  patient,
  pause,
  simulated,
  submission,
  type Stage,
} from '../engine/stage.js'

/** What ended lives by themselves. */
const accidents = (stage: Stage): unknown[] => stage.crashes.filter((error) => error !== undefined)

test('recipients that are read again when their message is deleted already are forgotten', async () => {
  const many = Array.from({ length: 1500 }, (_, i) => `r${i}@example.net`)
  let readCount = 0
  for (let at = 1; at <= 8; at++) {
    await simulated(
      async (stage) => {
        const queue = await stage.open(patient)
        let isDeferred = false
        queue.on('requeued', () => (isDeferred = true))
        stage.disk!.arm([{ at, kinds: ['read'], errno: 'EIO', effect: 'none' }])
        await queue.submit(submission(many))
        await stage.until('its recipients were read, or not', () => stage.warnings.length > 0 || isDeferred)
        if (stage.warnings.length === 0) return
        readCount++
        await queue.delete({ all: true })
        for (let seconds = 0; seconds < 70; seconds++) {
          await pause(stage, 1000)
          await queue.delete({ all: true })
        }
        expect(accidents(stage)).toEqual([])
        expect(await stage.ids()).toEqual([])
      },
      {
        queue: {
          segmentBytes: 64 * 4096,
          laneSegmentBytes: 64 * 4096,
          route: () => {
            throw new Error('nowhere')
          },
        },
      },
    )
  }
  expect(readCount).toBeGreaterThan(0)
})

test('when a sync fails in the checkpoint of a verb, the life ends', async () => {
  let failedCount = 0
  for (let at = 14; at <= 24; at++) {
    const faults: Fault[] = [{ at, kinds: ['syncDirectory'], errno: 'EIO', effect: 'none' }]
    await simulated(
      async (stage) => {
        const queue = await stage.open({ ...patient, inlineBytesMax: 100, checkpointIntervalMs: 3_600_000 })
        stage.answer = () => deferred
        if ((await codeOf(queue.submit(submission('a@example.net', mail('x'.repeat(300)))))) !== 'accepted')
          return
        await pause(stage, 100)
        if ((await codeOf(queue.delete({ all: true }))) === 'accepted') return
        failedCount++
        await pause(stage, 1)
        expect(accidents(stage)).toHaveLength(1)
        expect(await codeOf(queue.delete({ all: true }))).toBe('QUEUE_CRASHED')
      },
      { disk: { faults } },
    )
  }
  expect(failedCount).toBeGreaterThan(2)
})

test('damage in hold is reported, and does not end the life that compacts it', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ ...patient, deliver: false })
    const submitted = Array.from({ length: 1000 }, (_, i) =>
      queue.submit({ ...submission(), sender: i % 20 === 0 ? 'keep@example.org' : 'drop@example.org' }),
    )
    await Promise.all(submitted)
    await queue.hold({ all: true })
    const abort = new AbortController()
    const onProgress = ({ messageCount }: { messageCount: number }): void => {
      if (messageCount > 700) abort.abort()
    }
    const dropped = queue.delete({ sender: 'drop@example.org' }, { signal: abort.signal, onProgress })
    expect(await codeOf(dropped)).toBe('VERB_ABORTED')
    const file = await stage.disk!.open('lanes/1/envelopes/000000000003.log', 'write')
    await file.write(Buffer.alloc(64, 7), 9000)
    await file.close()
    expect(await codeOf(queue.release({ lane: 'incoming' }))).toBe('accepted')
    await stage.until('it is told', () => stage.warnings.includes('LOG_CORRUPT'))
    expect(await codeOf(queue.submit(submission()))).toBe('accepted')
    expect(accidents(stage)).toEqual([])
  })
})

test('what is on hold stays there when it is rerouted after the crash of a compaction', async () => {
  let foundCount = 0
  for (let seed = 0; seed < 16; seed++) {
    let look = (): void => undefined
    const after = ({ operation }: NumberedOperation): void => {
      if (operation.kind === 'writeSynced') look()
    }
    await simulated(
      async (stage) => {
        const queue = await stage.open({ ...patient, deliver: false })
        const submitted = Array.from({ length: 600 }, (_, i) =>
          queue.submit({ ...submission(), sender: i % 20 === 0 ? 'keep@example.org' : 'drop@example.org' }),
        )
        await Promise.all(submitted)
        await queue.hold({ all: true })
        await queue.delete({ sender: 'drop@example.org' })
        await new Promise<void>((resolve) => {
          look = () => {
            queue.crash()
            resolve()
          }
        })
        const next = await stage.open({ ...patient, deliver: false })
        next.once('recovered', ({ messageCount }) => (foundCount += messageCount))
        await next.reroute({ all: true }, { nexthop: 'other.test' })
        await stage.open(patient)
        expect(await stage.ids()).toHaveLength(30)
        await stage.queue.hold({ all: true })
        expect(stage.attempts).toEqual([])
      },
      { seed, disk: { observer: { after } } },
    )
  }
  expect(foundCount).toBeGreaterThan(0)
})

test('what an attempt has ended is missed by the verb that waited for it, and not counted as held', async () => {
  for (const outcome of [delivered, failed])
    await simulated(async (stage) => {
      let answer = (): void => undefined
      const asked = new Promise<void>((resolve) => (answer = resolve))
      const queue = await stage.open({
        ...patient,
        transports: { out: { deliver: () => asked.then(() => outcome) } },
      })
      await queue.submit({ ...submission(), sender: '' })
      await stage.until('it is active', () => queue.stats().activeCount === 1)
      const held = queue.hold({ all: true })
      await pause(stage, 10)
      answer()
      expect(await held).toEqual({ messageCount: 0, recipientCount: 0, missedCount: 1, failedCount: 0 })
    })
})

test('of two verbs on a message one misses it, and takes none for it that came from the same place of another lane', async () => {
  await simulated(async (stage) => {
    // Each is the first one in its lane.
    const idle = await stage.open({ ...patient, deliver: false })
    const { id } = await idle.submit(submission('held@example.net'))
    await idle.hold({ id })
    stage.answer = () => deferred
    const queue = await stage.open(patient)
    await queue.submit(submission('attempted@example.net'))
    await stage.until('it waits', () => stage.attempts.length === 1 && queue.stats().activeCount === 0)
    // A verb ends with a checkpoint, which makes its new place trusted.
    await queue.release({ id: 'none' })
    const { open, transports } = gate()
    const next = await stage.open({ ...patient, transports })
    await next.flush({ recipient: 'attempted@example.net' })
    const both = Promise.all([next.delete({ id }), next.delete({ id })])
    await pause(stage, 1000)
    const told: string[] = []
    next.once('delivered', ({ recipients }) => told.push(...recipients))
    open()
    const [first, second] = await both
    // Which of them is the first to reach it is the disk's to say.
    expect(first.messageCount + second.messageCount).toBe(1)
    expect([first.missedCount, second.missedCount]).toEqual([second.messageCount, first.messageCount])
    await stage.until('the other one has gone', () => told.length > 0)
    expect(told).toEqual(['attempted@example.net'])
  })
})

test('the end of a life rejects the calls that wait for verbs, and leaves no other rejection', async () => {
  const unhandled: unknown[] = []
  const tell = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', tell)
  try {
    for (let at = 1; at <= 40; at++) {
      let look = (): void => undefined
      await simulated(
        async (stage) => {
          const queue = await stage.open({ ...patient, transports: gate().transports })
          await queue.submit(submission())
          await stage.until('it is active', () => queue.stats().activeCount === 1)
          const accepted = Array.from({ length: 10 }, () => queue.submit(submission()).catch(() => undefined))
          const verbs = [codeOf(queue.hold({ all: true })), codeOf(queue.delete({ all: true }))]
          let callCount = 0
          await new Promise<void>((resolve) => {
            look = () => {
              if (++callCount !== at) return
              queue.crash()
              resolve()
            }
            stage.clock.after(60_000, () => (queue.crash(), resolve()))
          })
          await Promise.all(accepted)
          expect(await Promise.all(verbs)).toEqual(['QUEUE_CRASHED', 'QUEUE_CRASHED'])
        },
        { seed: at, disk: { observer: { before: () => look() } } },
      )
    }
    await new Promise<void>((resolve) => setTimeout(resolve, 20))
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', tell)
  }
})

test('a flush of more than the marks of a segment takes checkpoints on its way', async () => {
  await simulated(
    async (stage) => {
      stage.answer = () => deferred
      const queue = await stage.open(patient)
      const submitted = Array.from({ length: 6000 }, (_, i) =>
        queue.submit({ ...submission(), sender: i === 0 ? 'first@example.org' : '' }),
      )
      await Promise.all(submitted)
      await stage.until(
        'all are deferred',
        () => stage.attempts.length === 6000 && queue.stats().activeCount === 0,
        1_000_000,
      )
      await queue.release({ id: 'none' })
      const next = await stage.open({
        ...patient,
        checkpointIntervalMs: 3_600_000,
        transports: gate().transports,
      })
      const { messageCount } = await next.flush({ sender: '' }, { perSecond: Infinity })
      expect(messageCount).toBe(5999)
      // One of 910 marks fills a quarter of a segment: nothing else asks for a checkpoint here but
      // the end of the recovery.
      expect(next.stats().journal.checkpointCount).toBeGreaterThan(Math.floor(5999 / 910))
      expect(await codeOf(next.release({ id: 'none' }))).toBe('accepted')
      expect(accidents(stage)).toEqual([])
    },
    { queue: { segmentBytes: 256 * 4096 } },
  )
})

test('what is deleted makes room also in a life that delivers nothing', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ ...patient, deliver: false })
    const segmentCount = (): number => queue.stats().journal.segmentCount
    const large = mail('x'.repeat(900))
    await Promise.all(Array.from({ length: 600 }, () => queue.submit(submission('a@example.net', large))))
    const before = segmentCount()
    expect(before).toBeGreaterThan(8)
    await queue.delete({ all: true })
    await stage.until('the segments are gone', async () => {
      // A verb that finds nothing ends with a checkpoint.
      await queue.release({ id: 'none' })
      return segmentCount() <= 3
    })
    expect(await stage.ids()).toEqual([])
  })
})

test('on a full disk a flush is refused when none of the active can make way', async () => {
  await simulated(
    async (stage) => {
      stage.answer = () => ({ ...deferred, reason: '€'.repeat(500) })
      const queue = await stage.open({ ...patient, activeCountMax: 3 })
      await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
      await queue.submit(submission())
      await stage.until('it is deferred', () => queue.stats().activeCount === 0 && stage.attempts.length > 0)
      expect(await codeOf(queue.release({ id: 'none' }))).toBe('accepted')
      fill(stage)
      const count = (): number => stage.attempts.length
      for (let before = 0; queue.stats().activeCount < 3 || count() > before; await pause(stage, 1000)) {
        before = count()
        await codeOf(queue.submit(submission()))
      }
      expect(await codeOf(queue.flush({ all: true }))).toBe('DISK_FULL')
      fill(stage, 2 ** 30)
      await stage.until(
        'there is room',
        async () => (await codeOf(queue.flush({ all: true }))) === 'accepted',
      )
      expect(stage.crashes).toEqual([])
    },
    { queue: { segmentBytes: 64 * 4096 } },
  )
})

test('on a full disk an order that needs room is refused and not left waiting; with room it is carried out', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ ...patient, deliver: false })
    const submitted = Array.from({ length: 400 }, () => queue.submit(submission()))
    await Promise.all(submitted)
    fill(stage)
    expect(await codeOf(queue.hold({ all: true }))).toBe('DISK_FULL')
    fill(stage, 2 ** 30)
    await stage.until('there is room', async () => (await codeOf(queue.hold({ all: true }))) === 'accepted')
    expect(await stage.ids()).toHaveLength(400)
    expect(queue.stats().lanes.find(({ kind }) => kind === 'incoming')!.waitingBytes).toBe(0)
    expect(stage.crashes).toEqual([])
  })
})

// In many orders: what mail has left of its lane differs.
test.each([1, 2, 3, 4, 5, 6])(
  'what is on hold can be deleted on a full disk, and makes room: seed %d',
  async (seed) => {
    await simulated(
      async (stage) => {
        const queue = await stage.open({ ...patient, deliver: false })
        const submitted = Array.from({ length: 400 }, (_, i) =>
          queue.submit({ ...submission(), sender: `s${i % 4}@example.org` }),
        )
        await Promise.all(submitted)
        await queue.hold({ all: true })
        const segmentCount = (): number =>
          queue.stats().lanes.find(({ kind }) => kind === 'hold')!.segmentCount
        const before = segmentCount()
        fill(stage)
        for (let s = 0; s < 4; s++)
          expect(await queue.delete({ sender: `s${s}@example.org` })).toMatchObject({ messageCount: 100 })
        await stage.until('segments are gone', async () => {
          await queue.release({ id: 'none' })
          return segmentCount() < before
        })
        expect(await stage.ids()).toEqual([])
      },
      { seed },
    )
  },
)

test('damage in one lane is told at the end, and the other lanes are gone through', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ ...patient, deliver: false })
    await Promise.all(Array.from({ length: 300 }, () => queue.submit(submission())))
    await queue.hold({ all: true })
    stage.answer = () => deferred
    const next = await stage.open(patient)
    await next.submit(submission('late@example.net'))
    await stage.until('it waits', () =>
      next.stats().lanes.some((lane) => lane.lane !== 1 && lane.waitingBytes > 0),
    )
    await next.release({ id: 'none' })
    const file = await stage.disk!.open('lanes/1/envelopes/000000000000.log', 'write')
    await file.write(Buffer.alloc(64, 7), 9000)
    await file.close()
    const seen: string[] = []
    const listed = (async () => {
      for await (const { recipients } of next.list()) seen.push(...recipients)
    })()
    expect(await codeOf(listed)).toBe('LOG_CORRUPT')
    expect(seen).toContain('late@example.net')
    expect(await codeOf(next.delete({ recipient: 'late@example.net' }))).toBe('LOG_CORRUPT')
    await stage.until('it is gone', () =>
      next.stats().lanes.every((lane) => lane.kind !== 'retry' || lane.markCount > 0),
    )
  })
})

test('a report that is overtaken, by a verb or by the end of the life, warns of nothing', async () => {
  for (let seed = 0; seed < 40; seed++)
    await simulated(
      async (stage) => {
        const queue = await stage.open({ ...patient, inlineBytesMax: 0, deliver: false })
        await queue.submit(submission())
        const ended = [queue.delete({ all: true }), queue.expire({ all: true })]
        if (seed % 2 === 0) await Promise.all(ended)
        else {
          await Promise.race(ended)
          queue.crash()
          await Promise.allSettled(ended)
        }
        await pause(stage, 1000)
        expect(stage.warnings).toEqual([])
      },
      { seed },
    )
})

/** More than stand in an envelope: their addresses are read from the log. */
const crowd = (domain: string): string[] => Array.from({ length: 1100 }, (_, i) => `r${i}@${domain}`)

test('a message that is deferred while a verb by address reads the recipients of others is met', async () => {
  await simulated(
    async (stage) => {
      const { opened, open } = gate()
      let attempted = 0
      const queue = await stage.open({
        retry: fixedRetry([100, 3_600_000_000], 18_000_000_000),
        scheduler: { qmgrMessageRecipientLimit: 1_000_000 },
        route: (recipient) => {
          const domain = recipient.slice(recipient.indexOf('@') + 1)
          return { transport: domain === 'stuck.test' ? 'stuck' : 'out', nexthop: domain }
        },
        transports: {
          stuck: { deliver: () => new Promise<never>(() => undefined) },
          out: {
            deliver: async ({ nexthop, recipients }) => {
              if (nexthop === 'meant.test') {
                attempted += recipients.length
                if (attempted > 1100) await opened
              }
              return deferred
            },
          },
        },
      })
      for (let i = 0; i < 60; i++) await queue.submit(submission(crowd('stuck.test')))
      await queue.submit(submission(crowd('meant.test')))
      for (let i = 0; i < 16; i++) await queue.submit(submission(crowd('other.test')))
      await stage.until('the others wait, and it is active again', () => {
        const { activeCount, lanes } = queue.stats()
        return attempted > 1100 && activeCount === 61 && lanes[2]!.waitingBytes === 0
      })
      await queue.release({ id: 'none' })
      const held = queue.hold({ recipient: 'r1050@meant.test' })
      open()
      expect(await held).toEqual({ messageCount: 1, recipientCount: 1100, missedCount: 0, failedCount: 0 })
    },
    { queue: { segmentBytes: 64 * 4096, laneSegmentBytes: 64 * 4096, checkpointIntervalMs: 1 } },
  )
})

test.each(['rotted', 'refused by the device'])(
  'recipients of an active message that are %s are told of at the end, by its id, when all else was answered',
  async (how) => {
    await simulated(
      async (stage) => {
        const { opened, open } = gate()
        const queue = await stage.open({
          ...patient,
          route: (recipient) => ({ transport: recipient.includes('stuck') ? 'stuck' : 'out', nexthop: 'x' }),
          transports: {
            stuck: { deliver: () => opened.then(() => deferred) },
            out: { deliver: () => deferred },
          },
        })
        const { id } = await queue.submit(submission(crowd('stuck.test')))
        await queue.submit(submission('a@stuck.test'))
        await queue.submit(submission('b@example.net'))
        await stage.until('one waits', () => queue.stats().activeCount === 2)
        await queue.release({ id: 'none' })
        const { disk } = stage
        const path = 'journal/000000000000.log'
        if (how === 'rotted') {
          const bytes = disk!.image.bytes(path)
          disk!.image.flipBit(path, bytes.indexOf('r500@stuck.test'), 0)
        } else disk!.arm([{ kinds: ['read'], under: path, at: 1, errno: 'EIO', count: Infinity }])
        const code = how === 'rotted' ? 'LOG_CORRUPT' : 'DISK_FAILED'
        const seen: string[] = []
        const listing = async (): Promise<void> => {
          for await (const { recipients } of queue.list()) seen.push(...recipients)
        }
        await expect(listing()).rejects.toMatchObject({ code, place: { id } })
        expect(seen).toEqual(['a@stuck.test', 'b@example.net'])
        await expect(queue.hold({ domain: 'example.net' })).rejects.toMatchObject({ code, place: { id } })
        expect(queue.stats().lanes.find(({ kind }) => kind === 'hold')!.waitingBytes).toBeGreaterThan(0)
        expect(accidents(stage)).toEqual([])
        const counts: number[] = []
        const onProgress = ({ messageCount }: VerbResult): unknown => counts.push(messageCount)
        const held = queue.hold({ domain: 'stuck.test' }, { onProgress })
        // What needs no addresses reaches it.
        const deleted = queue.delete({ id })
        open()
        await expect(held).rejects.toMatchObject({ code, place: { id } })
        expect(counts.at(-1)).toBe(1)
        expect(await deleted).toMatchObject({ messageCount: 1, failedCount: 0 })
      },
      { queue: { segmentBytes: 64 * 4096, laneSegmentBytes: 64 * 4096 } },
    )
  },
)

test('one read that the device refuses costs a listing no more than the message, or the lane, that it is of', async () => {
  const left: string[] = []
  for (let at = 1; at <= 8; at++)
    await simulated(
      async (stage) => {
        const queue = await stage.open({ ...patient, deliver: false })
        await queue.submit({ ...submission(crowd('example.net')), sender: 'crowd@example.org' })
        await queue.hold({ all: true })
        await queue.submit({ ...submission(), sender: 'held@example.org' })
        await queue.hold({ all: true })
        await queue.submit({ ...submission(), sender: 'incoming@example.org' })
        stage.disk!.arm([{ at, kinds: ['read'], errno: 'EIO', effect: 'none' }])
        const missing = new Set(['crowd', 'held', 'incoming'])
        const listing = async (): Promise<void> => {
          for await (const { sender } of queue.list({ domain: 'example.net' }))
            missing.delete(sender.slice(0, sender.indexOf('@')))
        }
        const code = await codeOf(listing())
        left.push(`${[...missing].sort().join()}: ${code}`)
      },
      { queue: { segmentBytes: 64 * 4096, laneSegmentBytes: 64 * 4096 } },
    )
  const lost = left.filter((line) => !line.startsWith(':'))
  // Its addresses are read when it is compared, and when it is shown.
  const both = 'crowd,held: DISK_FAILED'
  const one = 'crowd: DISK_FAILED'
  expect(lost).toEqual(['incoming: DISK_FAILED', both, one, one])
})

test('a flush that meets damage has told of each message that it has started before it says so', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    const queue = await stage.open(patient)
    for (let i = 0; i < 5; i++) await queue.submit(submission(`r${i}@example.net`))
    await queue.submit(submission('rotten@example.net', mail('')))
    await stage.until('all wait', () => stage.attempts.length === 6 && queue.stats().activeCount === 0)
    await queue.release({ id: 'none' })
    const { image } = stage.disk!
    const place = (path: string): number => image.bytes(path).indexOf('rotten')
    const path = image.files().find((name) => name.includes('envelopes') && place(name) > 0)!
    image.flipBit(path, place(path), 0)
    stage.answer = () => delivered
    const counts: number[] = []
    const onProgress = ({ messageCount }: VerbResult): unknown => counts.push(messageCount)
    const flushed = queue.flush({ domain: 'example.net' }, { perSecond: Infinity, onProgress })
    await expect(flushed).rejects.toMatchObject({ code: 'LOG_CORRUPT' })
    expect(stage.told('delivered')).toHaveLength(counts.at(-1)!)
    expect(counts.at(-1)).toBeGreaterThan(0)
  })
})
