/** A disk that is full, or that fails, at any moment of a life: each gets its own error, and
 * nothing that was settled is lost. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { DeliveryRequest, Outcome } from '../../src/delivery/transport.js'
import type { Queue } from '../../src/queue.js'
import { isWaybillError, WaybillError } from '../../src/errors.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import type { OperationKind } from '../../src/sim/disk/operation.js'
import {
  codeOf,
  deferred,
  delivered,
  empty,
  failed,
  fill,
  gate,
  mail,
  patient,
  pause,
  real,
  simulated,
  submission,
  type Stage,
} from './stage.js'

/** Submits until it is refused. Returns the ids that were accepted. */
async function submitUntilRefused(
  queue: Queue,
  first = 0,
  countMax = 500,
): Promise<{ ids: string[]; code: string }> {
  const ids: string[] = []
  for (let i = first; i < first + countMax; i++) {
    const answer = await queue.submit(submission(`r${i}@example.net`, mail('x'.repeat(900)))).then(
      ({ id }) => id,
      (error: unknown) => error,
    )
    if (typeof answer === 'string') ids.push(answer)
    else return { ids, code: isWaybillError(answer) ? answer.code : String(answer) }
  }
  return { ids, code: 'accepted' }
}

/** Some mail, then the disk is full, then as much as is still accepted. */
async function submitWhileItFills(stage: Stage, queue: Queue): Promise<{ ids: string[]; code: string }> {
  const before = await submitUntilRefused(queue, 0, 40)
  fill(stage)
  const after = await submitUntilRefused(queue, 40)
  return { ids: [...before.ids, ...after.ids], code: after.code }
}

test('a full disk refuses new mail with DISK_FULL, keeps what it accepted, and takes mail again when there is room', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    const queue = await stage.open({ retry: fixedRetry([60_000]) })
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    const { ids, code } = await submitWhileItFills(stage, queue)
    expect(code).toBe('DISK_FULL')
    expect(ids.length).toBeGreaterThanOrEqual(40)
    await expect(queue.submit(submission())).rejects.toMatchObject({
      reply: { code: 452, enhanced: '4.3.1' },
    })
    expect(await stage.ids()).toEqual(ids.toSorted())
    empty(stage)
    await stage.until(
      'there is room again',
      async () => (await codeOf(queue.submit(submission()))) === 'accepted',
    )
    expect(stage.crashes).toEqual([])
  })
})

test('a disk that has no room for the name of the next segment refuses new mail, and the life goes on with it', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    const queue = await stage.open({ retry: fixedRetry([60_000]) })
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    stage.disk!.arm([
      { kinds: ['rename'], under: 'journal/', at: 1, errno: 'ENOSPC', effect: 'none', count: 6 },
    ])
    const { ids, code } = await submitUntilRefused(queue)
    expect(code).toBe('DISK_FULL')
    expect(queue.stats().journal).toMatchObject({ diskFull: true, spareCount: 0 })
    await stage.until(
      'there is room again',
      async () => (await codeOf(queue.submit(submission()))) === 'accepted',
    )
    expect(stage.crashes).toEqual([])
    await stage.open({ retry: fixedRetry([60_000]) })
    expect(await stage.ids()).toEqual(expect.arrayContaining(ids))
  })
})

test.each([
  ['a segment of the journal', 'open', 'journal/spare'],
  ['a spare', 'create', 'journal/spare'],
  ['the directory of the journal', 'syncDirectory', 'journal'],
  ['a segment of a lane', 'create', 'lanes/2/envelopes'],
  ['the directory of a lane', 'syncDirectory', 'lanes/2/envelopes'],
  ['the directory of large data', 'syncDirectory', 'spool'],
] as const)(
  'a process with too many files open for %s waits until there are fewer, and loses nothing',
  async (_, kind, under) => {
    await simulated(async (stage) => {
      stage.answer = () => deferred
      const queue = await stage.open({ ...patient, inlineBytesMax: 2000 })
      stage.disk!.arm([{ kinds: [kind], under, at: 1, errno: 'EMFILE', count: 20 }])
      const long = mail('w'.repeat(90).concat('\r\n').repeat(50))
      const large = queue.submit(submission('large@example.net', long))
      const { ids, code } = await submitUntilRefused(queue, 0, 60)
      expect(code).toBe('accepted')
      ids.push((await large).id)
      await pause(stage, 5000)
      // A batch that waits for its segment holds deliveries meanwhile.
      const isHeld = (code: string): boolean => /^DELIVERIES_(HELD|RESUMED)$/.test(code)
      expect(stage.warnings.filter((warning) => !isHeld(warning))).toEqual(['DISK_FAILED'])
      expect(stage.crashes).toEqual([])
      await stage.open(patient)
      await stage.until('recovery has put off again what it found', () => {
        const { recovering, activeCount } = stage.queue.stats()
        return !recovering && activeCount === 0
      })
      // A listing waits for a checkpoint ten seconds at most, a verb until it is there.
      await stage.queue.release({ id: 'none' })
      expect(await stage.ids()).toEqual(ids.toSorted())
    })
  },
)

/** Mail that waits once, in a separate lane, and is delivered then. */
async function submitThatWaits(stage: Stage, queue: Queue, count: number): Promise<void> {
  stage.answer = (_, { attempts }) => (attempts === 0 ? deferred : delivered)
  for (let i = 0; i < count; i++) await queue.submit(submission(`r${i}@example.net`, mail('x'.repeat(900))))
  await stage.until('all are delivered', () => stage.isEmpty())
}

test('segments of a lane that a full disk does not remove are tried again at the next checkpoints', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ retry: fixedRetry([100]) })
    stage.disk!.arm([{ kinds: ['unlink'], under: 'lanes', at: 1, errno: 'ENOSPC', effect: 'none', count: 4 }])
    await submitThatWaits(stage, queue, 60)
    const left = (): string[] => stage.disk!.image.files().filter((path) => path.startsWith('lanes/2/data'))
    for (let i = 0; i < 5; i++) {
      await submitThatWaits(stage, queue, 1)
      await pause(stage, 200)
    }
    expect([left().length, stage.crashes]).toEqual([1, []])
  })
})

test('a lane that no policy names, and that a full disk does not remove, is gone after the next start', async () => {
  await simulated(async (stage) => {
    const first = await stage.open({ retry: fixedRetry([100]) })
    await submitThatWaits(stage, first, 60)
    const lane = (): string[] => stage.disk!.image.files().filter((path) => path.startsWith('lanes/2/'))
    for (const [count, isLeft] of [
      [100, true],
      [0, false],
    ] as const) {
      const queue = await stage.open({ retry: fixedRetry([200]) })
      stage.disk!.arm([
        { kinds: ['unlink'], under: 'lanes/2', at: 1, errno: 'ENOSPC', effect: 'none', count },
      ])
      await submitThatWaits(stage, queue, 2)
      await pause(stage, 1000)
      expect(lane().length > 0).toBe(isLeft)
    }
    expect(stage.crashes).toEqual([undefined, undefined])
  })
})

test.each([
  ['in this life', 2],
  ['at the next start', 1000],
])('large data of a finished message that a full disk does not remove is gone %s', async (_, count) => {
  await simulated(async (stage) => {
    let queue = await stage.open()
    stage.disk!.arm([{ kinds: ['unlink'], under: 'spool', at: 1, errno: 'ENOSPC', effect: 'none', count }])
    await queue.submit(submission('grace@example.net', mail('y'.repeat(90).concat('\r\n').repeat(2000))))
    await stage.until('it is delivered', () => stage.isEmpty())
    for (let i = 0; i < 6; i++) {
      await queue.submit(submission(`r${i}@example.net`))
      await pause(stage, 200)
    }
    expect(await stage.spoolFiles()).toHaveLength(count > 2 ? 1 : 0)
    queue = await stage.open()
    await stage.until('recovery ends', () => !queue.stats().recovering)
    expect(await stage.spoolFiles()).toEqual([])
    expect(stage.crashes.filter((error) => error !== undefined)).toEqual([])
  })
})

/** Segments of 256 KiB: much fits one, as with the usual 64 MiB. */
const roomy = { queue: { segmentBytes: 64 * 4096, retry: fixedRetry([100]) } }

test('on a full disk mail that was accepted is still delivered and finished', async () => {
  await simulated(async (stage) => {
    const { open, transports } = gate()
    const queue = await stage.open({ transports })
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    let deliveredCount = 0
    queue.on('delivered', () => deliveredCount++)
    const { ids, code } = await submitWhileItFills(stage, queue)
    expect(code).toBe('DISK_FULL')
    expect(ids.length).toBeGreaterThanOrEqual(40)
    open()
    await stage.until('all are delivered', () => deliveredCount === ids.length, 120_000)
    await stage.until('nothing is left', () => stage.isEmpty(), 120_000)
    expect(stage.crashes).toEqual([])
  }, roomy)
})

test('a queue opens on a full disk and delivers what it has', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ transports: gate().transports })
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    const { ids, code } = await submitWhileItFills(stage, queue)
    expect(code).toBe('DISK_FULL')
    await stage.open()
    await stage.until(
      'all are delivered',
      () => new Set(stage.told('delivered')).size === ids.length,
      120_000,
    )
    await stage.until('nothing is left', () => stage.isEmpty(), 120_000)
  }, roomy)
})

test('what is deferred on a full disk waits among the active, and goes on when there is room', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    const queue = await stage.open()
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    const { ids, code } = await submitWhileItFills(stage, queue)
    expect(code).toBe('DISK_FULL')
    await new Promise<void>((resolve) => stage.clock.after(10_000, resolve))
    expect(new Set(await stage.ids())).toEqual(new Set(ids))
    stage.answer = () => delivered
    empty(stage)
    await stage.until(
      'all are delivered',
      () => new Set(stage.told('delivered')).size === ids.length,
      120_000,
    )
    await stage.until('nothing is left', () => stage.isEmpty(), 120_000)
    expect(stage.crashes).toEqual([])
  }, roomy)
})

test('on a full disk those without room to be deferred stand in the way of nobody: an order is carried out, a failure reported', async () => {
  await simulated(async (stage) => {
    const { open, opened } = gate()
    // A reason that takes more room than was to be seen before it was known.
    const full: Outcome = { kind: 'deferred', status: '4.2.2', reason: '€'.repeat(500) }
    const answer = ({ recipients: [recipient] }: DeliveryRequest): Outcome =>
      recipient!.startsWith('nobody') ? failed : full
    const deliver = (request: DeliveryRequest): Promise<Outcome> => opened.then(() => answer(request))
    const queue = await stage.open({ transports: { out: { deliver } }, retry: fixedRetry([60_000]) })
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    const ids: string[] = []
    for (let i = 0; i < 150; i++) ids.push((await queue.submit(submission(`r@${i}.example.net`))).id)
    const { id } = await queue.submit(submission('nobody@example.org'))
    const reported: string[] = []
    queue.on('reported', (event) => reported.push(event.id))
    await stage.until('all are being attempted', () => queue.stats().activeCount === 151)
    fill(stage)
    open()
    await stage.until('the failure is reported', () => reported.length > 0)
    expect(reported).toEqual([id])
    expect(await queue.delete({ id: ids.at(-1)! })).toMatchObject({ messageCount: 1 })
    expect(queue.stats().activeCount).toBeGreaterThan(100)
  }, roomy)
})

test('below the floor of free space new mail is refused, although segments have room, and taken again above it', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ freeBytesMin: 50_000 })
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    fill(stage, 60_000)
    expect(await codeOf(queue.submit(submission()))).toBe('accepted')
    fill(stage, 40_000)
    await new Promise<void>((resolve) => stage.clock.after(2000, resolve))
    await stage.until('it is seen', async () => (await codeOf(queue.submit(submission()))) === 'DISK_FULL')
    await new Promise<void>((resolve) => stage.clock.after(5000, resolve))
    expect(await codeOf(queue.submit(submission()))).toBe('DISK_FULL')
    expect(stage.warnings).toEqual(['DISK_FULL'])
    empty(stage)
    await new Promise<void>((resolve) => stage.clock.after(2000, resolve))
    await stage.until('it is seen', async () => (await codeOf(queue.submit(submission()))) === 'accepted')
  })
})

test('a file system without free inodes refuses new mail, and says that it is the inodes', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    const warned = new Promise((tell) => queue.once('warning', tell))
    stage.disk!.space = () => Promise.resolve({ freeBytes: 1e12, freeFiles: 99 })
    await pause(stage, 2000)
    await stage.until('it is seen', async () => (await codeOf(queue.submit(submission()))) === 'DISK_FULL')
    expect(await warned).toMatchObject({ message: expect.stringContaining('fewer than 100 free inodes') })
    await expect(queue.submit(submission())).rejects.toThrow('the disk has too few free inodes')
    expect(await queue.room()).toMatchObject({ isShort: true, shortOf: 'files' })
  })
})

test('segments that leave too little room are warned of when they are made, not when the next mail comes', async () => {
  await simulated(
    async (stage) => {
      const queue = await stage.open({ freeBytesMin: 60_000 })
      await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
      await pause(stage, 1500)
      const startedAt = stage.clock.monotonicMs()
      const room = async (): Promise<number> => (await queue.room()).freeBytes
      expect(await room()).toBeGreaterThan(60_000)
      while ((await room()) > 60_000) expect(await codeOf(queue.submit(submission()))).toBe('accepted')
      await stage.until('the segment is made', () => stage.warnings.length > 0, 100)
      expect(stage.warnings).toEqual(['DISK_FULL'])
      // Mail alone has it looked at once a second.
      expect(stage.clock.monotonicMs() - startedAt).toBeLessThan(1000)
    },
    { disk: { size: { capacityBytes: 382_000, capacityFiles: 1e9 } }, queue: { deliver: false } },
  )
})

test('where room is short the journal keeps no more spares than its reserve, and new mail is taken', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ freeBytesMin: 65_536 })
    const { journal } = queue.stats()
    const burst = Array.from({ length: 100 }, () =>
      queue.submit(submission('a@example.net', mail('x\r\n'.repeat(1300)))),
    )
    await Promise.all(burst)
    await stage.until(
      'what it took comes back',
      () => queue.stats().journal.spareCount > journal.spareCount + 2,
    )
    await pause(stage, 5000)
    fill(stage, 60_000)
    await pause(stage, 2000)
    // An old answer says that there is room: the first one has it looked at.
    await codeOf(queue.submit(submission()))
    await pause(stage, 5000)
    expect(await codeOf(queue.submit(submission()))).toBe('accepted')
    expect((await queue.room()).freeBytes).toBeGreaterThan(65_536)
    expect(queue.stats().journal.spareCount).toBe(2)
    expect(stage.crashes).toEqual([])
  })
})

test('the first mail that comes when there is room again is taken: cron does not try twice', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ freeBytesMin: 300_000 })
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    fill(stage, 250_000)
    await stage.until('it is seen', async () => (await codeOf(queue.submit(submission()))) === 'DISK_FULL')
    empty(stage)
    await new Promise<void>((resolve) => stage.clock.after(2000, resolve))
    expect(await codeOf(queue.submit(submission()))).toBe('accepted')
    fill(stage, 250_000)
    await new Promise<void>((resolve) => stage.clock.after(2000, resolve))
    await stage.until('it is seen', async () => (await codeOf(queue.submit(submission()))) === 'DISK_FULL')
    await new Promise<void>((resolve) => stage.clock.after(2000, resolve))
    const asking = codeOf(queue.submit(submission()))
    queue.crash()
    expect(await asking).toBe('QUEUE_CRASHED')
  })
})

/** The disk is short of room, and each question waits for so many milliseconds. */
async function shortAndSlow(stage: Stage, queue: Queue): Promise<{ answerMs: number; askedCount: number }> {
  const slow = { answerMs: 0, askedCount: 0 }
  stage.disk!.space = async () => {
    slow.askedCount++
    await new Promise<void>((resolve) => stage.clock.after(slow.answerMs, resolve))
    return { freeBytes: 1000, freeFiles: 1e9 }
  }
  await stage.until('it is seen', async () => (await codeOf(queue.submit(submission()))) === 'DISK_FULL')
  await pause(stage, 2000)
  return slow
}

test('mail waits for one answer of a slow disk, not for one that would be newer', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ freeBytesMin: 300_000 })
    const slow = await shortAndSlow(stage, queue)
    slow.answerMs = 1500
    const codes: string[] = []
    for (let i = 0; i < 2; i++) void codeOf(queue.submit(submission())).then((code) => codes.push(code))
    await pause(stage, 1600)
    expect(codes).toEqual(['DISK_FULL', 'DISK_FULL'])
  })
})

test('a disk that never answers is asked once, and mail that waits for it is refused as before', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ freeBytesMin: 300_000 })
    const slow = await shortAndSlow(stage, queue)
    slow.answerMs = 60_000
    const { askedCount } = slow
    const codes: string[] = []
    void codeOf(queue.submit(submission())).then((code) => codes.push(code))
    await pause(stage, 9000)
    expect(codes).toEqual([])
    await pause(stage, 1500)
    expect(codes).toEqual(['DISK_FULL'])
    expect(await codeOf(queue.submit(submission()))).toBe('DISK_FULL')
    expect(slow.askedCount).toBe(askedCount + 1)
    await pause(stage, 60_000)
    slow.answerMs = 0
    expect(await codeOf(queue.submit(submission()))).toBe('DISK_FULL')
    expect(slow.askedCount).toBe(askedCount + 2)
    expect(stage.crashes).toEqual([])
  })
})

test('the room on the disk is what it is when asked, and nobody asks a queue that has crashed', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ freeBytesMin: 50_000 })
    // Its first segment is a spare, which is made up for.
    await queue.submit(submission())
    await queue.idle()
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    fill(stage, 60_000)
    expect(await queue.room()).toMatchObject({ freeBytes: 60_000, isShort: false })
    fill(stage, 49_999)
    expect(await queue.room()).toMatchObject({ freeBytes: 49_999, isShort: true })
    expect(queue.isCrashed).toBe(false)
    const asked = codeOf(queue.room())
    queue.crash()
    expect(queue.isCrashed).toBe(true)
    expect([await asked, await codeOf(queue.room())]).toEqual(['QUEUE_CRASHED', 'QUEUE_CRASHED'])
  })
})

test('a spool file that meets a full disk rejects its submission and leaves no file', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    fill(stage, 20_000)
    const large = submission('grace@example.net', mail('y'.repeat(90).concat('\r\n').repeat(1000)))
    expect(await codeOf(queue.submit(large))).toBe('DISK_FULL')
    expect(stage.disk!.image.files().filter((path) => path.startsWith('spool/'))).toEqual([])
    expect(await codeOf(queue.submit(submission()))).toBe('accepted')
  })
})

interface Told {
  readonly settled: string[]
  readonly codes: Set<string>
}

/** A life with everything in it: accept, deliver, defer, large data, checkpoints; until it ends
 * or all is done. */
async function live(stage: Stage): Promise<Told> {
  const settled: string[] = []
  const codes = new Set<string>()
  stage.answer = (recipient, { attempts }) =>
    recipient.startsWith('late') && attempts < 1 ? deferred : delivered
  const opened = await stage.open().catch((error: unknown) => error)
  if (!('submit' in (opened as object))) {
    codes.add(isWaybillError(opened) ? opened.code : String(opened))
    return { settled, codes }
  }
  const queue = opened as Queue
  const submitted: Promise<void>[] = []
  for (let i = 0; i < 24; i++) {
    const large =
      i % 8 === 7 ? mail('w'.repeat(90).concat('\r\n').repeat(150)) : mail(`${i} ${'v'.repeat(900)}`)
    submitted.push(
      settledOrOver(
        stage,
        queue.submit(submission(`${i % 3 === 0 ? 'late' : 'prompt'}${i}@example.net`, large)),
      ).then(
        ({ id }) => void settled.push(id),
        (error: unknown) => void codes.add(isWaybillError(error) ? error.code : String(error)),
      ),
    )
    if (i % 4 === 3) await Promise.all(submitted)
    await new Promise<void>((resolve) => stage.clock.after(20, resolve))
  }
  await Promise.all(submitted)
  await new Promise<void>((resolve) => stage.clock.after(1000, resolve))
  return { settled, codes }
}

/** A call of the simulated disk that is under way at the end of a life never answers, and so
 * may a submission. */
function settledOrOver<T>(stage: Stage, submitted: Promise<T>): Promise<T> {
  const over = stage
    .until('this life is over', () => stage.crashes.length > 0, 1e9)
    .then(async () => {
      await new Promise<void>((resolve) => stage.clock.after(1, resolve))
      throw new WaybillError('QUEUE_CRASHED', 'this life is over')
    })
  return Promise.race([submitted, over])
}

/** Settled messages that the next life does not deliver either. */
async function lostAfter(stage: Stage, { settled }: Told): Promise<string[]> {
  await stage.open()
  const left = (): string[] => {
    const got = new Set(stage.attempts.filter(({ kind }) => kind === 'delivered').map(({ id }) => id))
    return settled.filter((id) => !got.has(id))
  }
  await stage.until('all are delivered', () => left().length === 0, 30_000).catch(() => undefined)
  return left()
}

const kindsOfCalls: readonly (readonly [string, readonly OperationKind[], number])[] = [
  ['synced write', ['writeSynced'], 30],
  ['write', ['write'], 30],
  ['sync', ['sync'], 24],
  ['sync of a directory', ['syncDirectory'], 16],
  ['rename', ['rename'], 6],
  ['creation', ['create'], 12],
  ['unlinking', ['unlink'], 4],
  ['opening', ['open'], 12],
  ['reading', ['read'], 4],
]

test.each(kindsOfCalls)(
  'a %s that fails with EIO is told with its code, ends the life or only its submission, and loses nothing that was settled',
  async (_, kinds, callCount) => {
    const codes = new Set<string>()
    for (let at = 1; at <= callCount; at++) {
      const image = { disk: undefined as Stage['disk'] }
      const told = await simulated(
        async (stage) => {
          const result = await live(stage)
          image.disk = stage.disk
          return { ...result, attempts: stage.attempts }
        },
        { seed: at, disk: { faults: [{ at, kinds: [...kinds], errno: 'EIO' }] } },
      )
      for (const code of told.codes) codes.add(code)
      image.disk!.abandon()
      const lost = await simulated(
        async (stage) => {
          stage.attempts.push(...told.attempts)
          return lostAfter(stage, told)
        },
        { seed: at, disk: { image: image.disk!.image } as never },
      )
      expect([at, lost]).toEqual([at, []])
    }
    for (const code of codes) expect(['DISK_FAILED', 'QUEUE_CRASHED']).toContain(code)
  },
  60_000,
)

test('a failed sync of the journal rejects what waited with QUEUE_CRASHED, and the event `crashed` has the cause', async () => {
  await simulated(
    async (stage) => {
      const queue = await stage.open({ checkpointIntervalMs: 3_600_000 })
      const codes: string[] = []
      for (let i = 0; i < 12; i++) codes.push(await codeOf(queue.submit(submission())))
      expect(codes).toContain('accepted')
      expect(codes.at(-1)).toBe('QUEUE_CRASHED')
      expect(stage.crashes).toHaveLength(1)
      expect(stage.crashes[0]).toMatchObject({ code: 'DISK_FAILED', place: { errno: 'EIO' } })
    },
    { disk: { faults: [{ at: 9, kinds: ['writeSynced'], errno: 'EIO', effect: 'none' }] } },
  )
})

test('a spool file that is there already is not taken away for the one that would have its name', async () => {
  await simulated(async (stage) => {
    const large = mail('y'.repeat(90).concat('\r\n').repeat(2000))
    const queue = await stage.open({ transports: gate().transports })
    const { id } = await queue.submit(submission('grace@example.net', large))
    const [path] = await stage.spoolFiles()
    const next = path!.replace(/1\.mail$/, '2.mail')
    expect(next).not.toBe(path)
    stage.disk!.image.create(next)
    await expect(queue.submit(submission('ada@example.net', large))).rejects.toMatchObject({
      code: 'DISK_FAILED',
      place: { errno: 'EEXIST' },
    })
    expect(await stage.spoolFiles()).toEqual([path, next])
    expect(await codeOf(queue.submit(submission('ada@example.net', large)))).toBe('accepted')
    expect(await stage.ids()).toContain(id)
  })
})

describe('where files of large data can neither be made nor taken away', () => {
  const large = (recipient: string): ReturnType<typeof submission> =>
    submission(recipient, mail('y'.repeat(90).concat('\r\n').repeat(2000)))
  /** More than there are turns in so small a journal. */
  const count = 70
  const open = async (stage: Stage): Promise<Queue> => {
    const queue = await stage.open({ segmentBytes: 8 * 4096 })
    await stage.ids()
    return queue
  }

  test('each submission is told, however many there are, and one that comes later is accepted', async () => {
    await simulated(async (stage) => {
      const queue = await open(stage)
      stage.disk!.arm([
        { kinds: ['create'], under: 'spool', at: 1, count, errno: 'EROFS', effect: 'none' },
        { kinds: ['unlink'], under: 'spool', at: 1, count, errno: 'EROFS', effect: 'none' },
      ])
      for (let i = 0; i < count; i++)
        expect(await codeOf(queue.submit(large(`r${i}@example.net`)))).toBe('DISK_FAILED')
      await stage.until('it is accepted', async () => {
        const code = await codeOf(queue.submit(large('later@example.net')))
        return code === 'accepted'
      })
      await stage.until('nothing is left', async () => (await stage.spoolFiles()).length === 0)
      expect(queue.isCrashed).toBe(false)
    })
  })

  test('submissions that wait for their turn are rejected, too', async () => {
    await simulated(async (stage) => {
      const queue = await open(stage)
      const all = { under: 'spool', at: 1, count: 1000, errno: 'EIO', effect: 'none' } as const
      stage.disk!.arm([
        { ...all, kinds: ['write'] },
        { ...all, kinds: ['unlink'] },
      ])
      const codes = Array.from({ length: count }, (_, i) => codeOf(queue.submit(large(`r${i}@example.net`))))
      expect(new Set(await Promise.all(codes))).toEqual(new Set(['DISK_FAILED']))
    })
  })
})

test('a start that cannot take away what a finished message left takes neither mail nor room, however often it is tried', async () => {
  const segments = ({ disk }: Stage): number =>
    disk!.image.files().filter((path) => path.startsWith('journal/')).length
  await simulated(
    async (stage) => {
      const large = mail('y'.repeat(90).concat('\r\n').repeat(2000))
      await (await stage.open()).submit(submission('grace@example.net', large))
      await stage.until('the life has ended', () => stage.queue.isCrashed)
      await stage.open()
      await stage.until('the next one has', () => stage.queue.isCrashed)
      await expect(stage.open()).rejects.toMatchObject({
        code: 'DISK_FAILED',
        place: { operation: 'unlink' },
      })
      const before = segments(stage)
      for (let i = 0; i < 5; i++) await expect(stage.open()).rejects.toMatchObject({ code: 'DISK_FAILED' })
      expect(segments(stage)).toBe(before)
    },
    {
      disk: {
        faults: [{ at: 1, kinds: ['unlink'], under: 'spool', errno: 'EIO', effect: 'none', count: 1000 }],
      },
    },
  )
})

test('a device that says ENOSPC at a synced write has failed: that is no full disk', async () => {
  await simulated(
    async (stage) => {
      const queue = await stage.open({ checkpointIntervalMs: 3_600_000 })
      for (let i = 0; i < 12; i++) await codeOf(queue.submit(submission()))
      expect(stage.crashes[0]).toMatchObject({ code: 'DISK_FAILED', place: { errno: 'ENOSPC' } })
    },
    { disk: { faults: [{ at: 9, kinds: ['writeSynced'], errno: 'ENOSPC' }] } },
  )
})

test('data that rots while it waits is never delivered: DATA_CORRUPT or LOG_CORRUPT is told, the rest goes on', async () => {
  await real(async (stage) => {
    stage.answer = () => deferred
    const queue = await stage.open({ retry: fixedRetry([3_600_000]) })
    const large = mail('y'.repeat(90).concat('\r\n').repeat(1000))
    const rotten = await queue.submit(submission('rotten@example.net', large))
    const good = await queue.submit(submission('good@example.net'))
    await stage.until('both were deferred', () => stage.told('deferred').length >= 2)
    const [name] = await stage.spoolFiles()
    const path = join(stage.directory, 'spool', name!)
    const rot = await readFile(path)
    rot[5000]! ^= 1
    await writeFile(path, rot)
    stage.answer = () => delivered
    // Only now is either attempted again, however long the rot took.
    await queue.flush({ all: true })
    await stage.until('the good one is delivered', () => stage.told('delivered').includes('good@example.net'))
    await stage.until('the other was looked at', () => stage.warnings.includes('DATA_CORRUPT'))
    await queue.idle()
    expect(stage.told('delivered')).toEqual(['good@example.net'])
    expect(await stage.ids()).toEqual([rotten.id])
    expect(good.id).not.toBe(rotten.id)
    expect(stage.warnings).toContain('DATA_CORRUPT')
  })
})

test('a stream of data that has rotted fails before its end', async () => {
  await real(async (stage) => {
    const large = mail('y'.repeat(90).concat('\r\n').repeat(10_000))
    const { transports } = gate()
    await stage.open({ transports })
    await stage.queue.submit(submission('grace@example.net', large))
    const [name] = await stage.spoolFiles()
    const path = join(stage.directory, 'spool', name!)
    const rot = await readFile(path)
    rot[5000]! ^= 1
    await writeFile(path, rot)
    let streamedBytes = 0
    const read = async (request: DeliveryRequest): Promise<Outcome> => {
      for await (const piece of request.stream() as AsyncIterable<Buffer>) streamedBytes += piece.length
      return delivered
    }
    await stage.open({ transports: { out: { deliver: (request) => read(request) } } })
    await stage.until('the operator is told', () => stage.warnings.includes('DATA_CORRUPT'))
    expect(streamedBytes).toBeGreaterThan(0)
    expect(streamedBytes).toBeLessThan(large.length)
    expect(await stage.ids()).toHaveLength(1)
  })
})
