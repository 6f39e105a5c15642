/** What lies in the directory: another owner, another format, another thing altogether. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, readlink, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { crc32 } from '../../src/base/checksum.js'
import { systemClock } from '../../src/base/clock.js'
import { openQueue } from '../../src/queue.js'
import type { QueueOptions } from '../../src/engine/life/options.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { postfixRetry } from '../../src/policy/postfix-retry.js'
import {
  decodeSegmentHeader,
  formatVersion,
  segmentHeaderBytes,
  segmentName,
  segmentSeed,
} from '../../src/log/segment.js'
import { kindAt, kinds, verifyFrame } from '../../src/record/frame.js'
import { codeOf, mail, real, simulated, submission, type Stage } from './stage.js'

/** A queue with a message in it that waits, at rest. */
async function leave(stage: Stage): Promise<string> {
  stage.answer = () => ({ kind: 'deferred', status: '4.2.2', reason: 'full' })
  const queue = await stage.open({ retry: postfixRetry() })
  const { id } = await queue.submit(submission())
  await stage.until('it is deferred', () => stage.told('deferred').length > 0)
  await stage.until('it waits in its lane, vouched for', async () => {
    for await (const { where } of queue.list()) return where === 'retry'
    return false
  })
  queue.crash()
  await new Promise<void>((resolve) => stage.clock.after(30, resolve))
  return id
}

const journalOf = (stage: Stage): string => join(stage.directory, 'journal')
const segmentsOf = async (stage: Stage): Promise<string[]> =>
  (await readdir(journalOf(stage))).filter((name) => name.endsWith('.log')).sort()

test('a second owner in the same process is told QUEUE_LOCKED, and gets the queue when the first has crashed', async () => {
  await real(async (stage) => {
    const queue = await stage.open()
    const options = { transports: {}, route: () => ({ transport: '', nexthop: '' }) }
    expect(await codeOf(openQueue(stage.directory, options))).toBe('QUEUE_LOCKED')
    expect(await codeOf(queue.submit(submission()))).toBe('accepted')
    queue.crash()
    expect(await codeOf(stage.open())).toBe('accepted')
  })
})

test('a queue is made where an operator has put a link in the place of a directory', async () => {
  await real(async (stage) => {
    const elsewhere = join(stage.directory, '..', 'elsewhere')
    await mkdir(elsewhere)
    await mkdir(stage.directory)
    await symlink(elsewhere, join(stage.directory, 'spool'))
    const queue = await stage.open({ deliver: false })
    await queue.submit(submission('large@example.net', mail('y'.repeat(90).concat('\r\n').repeat(2000))))
    expect(await readlink(join(stage.directory, 'spool'))).toBe(elsewhere)
    expect(await readdir(elsewhere)).toHaveLength(1)
    await stage.open()
    await stage.until('it is delivered', () => stage.told('delivered').length === 1)
  })
})

test('a directory that another process owns is QUEUE_LOCKED, until that process is killed', async () => {
  await real(async (stage) => {
    await (await stage.open()).submit(submission())
    stage.queue.crash()
    await new Promise<void>((resolve) => setTimeout(resolve, 30))
    const hold = ['-F', join(stage.directory, 'lock'), 'sh', '-c', 'echo locked; exec sleep 60']
    const owner = spawn('flock', hold, { stdio: ['ignore', 'pipe', 'ignore'] })
    await once(owner.stdout, 'data')
    expect(await codeOf(stage.open())).toBe('QUEUE_LOCKED')
    owner.kill('SIGKILL')
    await once(owner, 'exit')
    expect(await codeOf(stage.open())).toBe('accepted')
  })
})

test('a queue of a newer format is refused and nothing in it is changed', async () => {
  await real(async (stage) => {
    await leave(stage)
    const path = join(stage.directory, 'queue.json')
    const header = JSON.parse(await readFile(path, 'utf8')) as object
    await writeFile(path, JSON.stringify({ ...header, format: 99 }))
    const before = await readdir(stage.directory, { recursive: true })
    expect(await codeOf(stage.open())).toBe('FORMAT_NEWER')
    expect(await readdir(stage.directory, { recursive: true })).toEqual(before)
  })
})

test('a segment of a newer format is refused, and rot in its version is rot, with its place', async () => {
  await real(async (stage) => {
    await leave(stage)
    const path = join(journalOf(stage), (await segmentsOf(stage)).at(-1)!)
    await overwrite(path, 8, Buffer.of(formatVersion + 1))
    await expect(stage.open()).rejects.toMatchObject({
      code: 'LOG_CORRUPT',
      place: { path: expect.stringContaining('journal/') as string },
    })
    const checksum = Buffer.alloc(4)
    checksum.writeUInt32LE(crc32((await readFile(path)).subarray(0, 40)))
    await overwrite(path, 40, checksum)
    expect(await codeOf(stage.open())).toBe('FORMAT_NEWER')
  })
})

test('a file that is no segment, under a segment name, is LOG_CORRUPT and named', async () => {
  await real(async (stage) => {
    await leave(stage)
    const name = segmentName(99)
    await writeFile(join(journalOf(stage), name), 'notes')
    await expect(stage.open()).rejects.toMatchObject({
      code: 'LOG_CORRUPT',
      place: { log: 'journal', segment: 99, path: `journal/${name}` },
    })
  })
})

test('a directory with other things in it is NOT_A_QUEUE, and a file is no directory', async () => {
  await real(async (stage) => {
    await stage.open()
    stage.queue.crash()
    const other = `${stage.directory}-other`
    const options = { transports: {}, route: () => ({ transport: '', nexthop: '' }) }
    await mkdir(other)
    await writeFile(join(other, 'mail.txt'), 'x')
    expect(await codeOf(openQueue(other, options))).toBe('NOT_A_QUEUE')
    expect(await codeOf(openQueue(join(other, 'mail.txt'), options))).toBe('DISK_FAILED')
    expect(await codeOf(openQueue(join(other, 'not', 'there'), options))).toBe('DISK_FAILED')
  })
})

test('a queue whose header is gone is NOT_A_QUEUE, not an empty one', async () => {
  await real(async (stage) => {
    await leave(stage)
    await writeFile(join(stage.directory, 'queue.json'), 'no JSON')
    expect(await codeOf(stage.open())).toBe('NOT_A_QUEUE')
  })
})

/** A queue whose one life has taken three messages, and its segment. */
async function leaveJournal(stage: Stage): Promise<{ path: string; bytes: Buffer }> {
  const queue = await stage.open({ segmentBytes: 32 * 4096, checkpointIntervalMs: 3_600_000 })
  await stage.until('recovery ends', () => !queue.stats().recovering)
  for (let i = 0; i < 3; i++) await queue.submit(submission())
  queue.crash()
  await new Promise<void>((resolve) => setTimeout(resolve, 30))
  const path = join(journalOf(stage), segmentName(0))
  return { path, bytes: await readFile(path) }
}

test('rot in the newest checkpoint is LOG_CORRUPT with segment and offset, and rot in an older one harms nobody', async () => {
  await real(async (stage) => {
    const { path, bytes } = await leaveJournal(stage)
    const seed = segmentSeed(0, 0, decodeSegmentHeader(bytes, {}).epoch)
    const checkpoints: number[] = []
    for (let at = segmentHeaderBytes, length = 1; length > 0; at += length) {
      length = verifyFrame(bytes, at, bytes.length, seed ^ at)
      if (length > 0 && kindAt(bytes, at) === kinds.checkpoint) checkpoints.push(at)
    }
    const [copy, newest] = checkpoints as [number, number]
    await overwrite(path, newest + 20, Buffer.from('rot'))
    await expect(stage.open()).rejects.toMatchObject({
      code: 'LOG_CORRUPT',
      place: { log: 'journal', segment: 0, offsetBytes: newest },
    })
    await overwrite(path, newest + 20, bytes.subarray(newest + 20, newest + 23))
    await overwrite(path, copy + 20, Buffer.from('rot'))
    await stage.open()
    await stage.until('recovery ends', () => !stage.queue.stats().recovering)
    expect(stage.crashes).toEqual([undefined])
  })
})

test('rot in the suffix ends the first life that reads it, and lets no later one take mail or room', async () => {
  await real(async (stage) => {
    const { path, bytes } = await leaveJournal(stage)
    const place = { log: 'journal', segment: 0 }
    await overwrite(path, bytes.indexOf('Hello.'), Buffer.from('rot'))
    await stage.open()
    await stage.until('the suffix was read', () => stage.crashes.length === 2)
    expect(stage.crashes[1]).toMatchObject({ code: 'LOG_CORRUPT', place })
    const left = await segmentsOf(stage)
    for (let i = 0; i < 3; i++)
      await expect(stage.open()).rejects.toMatchObject({ code: 'LOG_CORRUPT', place })
    expect(await segmentsOf(stage)).toEqual(left)
  })
})

test('a trusted segment of a lane that is cut short is LOG_CORRUPT, not an empty lane', async () => {
  await real(async (stage) => {
    await leave(stage)
    const lanes = join(stage.directory, 'lanes')
    const cut: string[] = []
    for (const lane of await readdir(lanes))
      for (const name of await readdir(join(lanes, lane, 'envelopes')))
        cut.push(join(lanes, lane, 'envelopes', name))
    expect(cut.length).toBeGreaterThan(0)
    for (const path of cut) await truncate(path, 4200)
    expect(await codeOf(stage.open())).toBe('LOG_CORRUPT')
  })
})

test('options outside their bounds are refused before anything is touched', async () => {
  await real(async (stage) => {
    await stage.open()
    stage.queue.crash()
    const fresh = `${stage.directory}-fresh`
    const good: QueueOptions = { transports: {}, route: () => ({ transport: '', nexthop: '' }) }
    const retry = fixedRetry([1000])
    const bad: readonly (readonly [object, string | undefined])[] = [
      [{ route: undefined }, undefined],
      [{ transports: null }, undefined],
      [{ transports: { a: {} } }, 'transports.a'],
      [{ transports: new Map([['a', { deliver: () => ({ kind: 'delivered' }) }]]) }, 'transports'],
      [{ segmentBytes: 4096 }, 'segmentBytes'],
      [{ segmentBytes: 65_537 }, 'segmentBytes'],
      [{ laneSegmentBytes: 2 ** 25 }, 'laneSegmentBytes'],
      [{ dataBytesMax: 0 }, 'dataBytesMax'],
      [{ inlineBytesMax: 2 ** 30 }, 'inlineBytesMax'],
      [{ recipientCountMax: 1.5 }, 'recipientCountMax'],
      [{ activeCountMax: NaN }, 'activeCountMax'],
      [{ layout: 'both' }, 'layout'],
      [{ checkpointIntervalMs: -1 }, 'checkpointIntervalMs'],
      [{ fruitlessRecoveriesMax: -1 }, 'fruitlessRecoveriesMax'],
      [{ deliver: 'no' }, 'deliver'],
      [{ segmentByte: 1 }, 'segmentByte'],
      [{ clock: {} }, 'clock'],
      [{ clock: null }, 'clock'],
      [{ clock: Date }, 'clock'],
      [{ clock: { ...systemClock, after: undefined } }, 'clock'],
      [{ prng: Math.random }, 'prng'],
      [{ disk: {} }, 'disk'],
      [{ disk: '/var/queue' }, 'disk'],
      [{ disk: { abandon: () => {} } }, 'disk'],
      [{ attempt: { deadline: 1000 } }, 'attempt.deadline'],
      [{ attempt: 1000 }, 'attempt'],
      [{ attempt: { deadlineMs: '1s' } }, 'deadlineMs'],
      [{ scheduler: 5 }, undefined],
      [{ scheduler: { transports: new Map() } }, 'transports'],
      [{ scheduler: { minimalBackoffTime: -1 } }, 'minimalBackoffTime'],
      [{ scheduler: { qmgrMessageActiveLimit: 10 } }, 'scheduler.qmgrMessageActiveLimit'],
      [{ scheduler: { retryTransport: 'retry' } }, 'scheduler.retryTransport'],
      [{ scheduler: { transports: { stmp: { processLimit: 1 } } } }, 'scheduler.transports.stmp'],
      [{ retry: { ...retry, decide: undefined } }, 'retry.decide'],
      [{ retry: { ...retry, bounceQueueLifetimeMs: undefined } }, 'retry.bounceQueueLifetimeMs'],
      [{ retry: { ...retry, delayWarningAgesMs: undefined } }, 'retry.delayWarningAgesMs'],
      [{ retry: { ...retry, delayWarningAgesMs: [NaN] } }, 'retry.delayWarningAgesMs'],
    ]
    for (const [part, option] of bad)
      await expect(openQueue(fresh, { ...good, ...part } as QueueOptions)).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        place: option === undefined ? {} : { option },
      })
    expect(await codeOf(openQueue('', good))).toBe('OPTION_INVALID')
    expect(await codeOf(openQueue(`queue\0`, good))).toBe('OPTION_INVALID')
    await expect(readdir(fresh)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

test('more intervals than lanes is LANES_TOO_MANY', async () => {
  await simulated(async (stage) => {
    const intervalsMs = Array.from({ length: 33 }, (_, i) => 1000 + i)
    const retry = {
      intervalsMs,
      bounceQueueLifetimeMs: 1e9,
      delayWarningAgesMs: [],
      decide: () => ({ kind: 'retry', delayMs: 1000 }) as const,
    }
    expect(await codeOf(stage.open({ retry }))).toBe('LANES_TOO_MANY')
  })
})

async function overwrite(path: string, offset: number, bytes: Buffer): Promise<void> {
  const content = await readFile(path)
  bytes.copy(content, offset)
  await writeFile(path, content)
}
