/** Backups of real files: of a queue that works, of one that nobody has open, and what
 * is made of them. */
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { newMessageId } from '../../src/base/message-id.js'
import { backUp, type KeptFiles } from '../../src/backup/back-up.js'
import { DiskTarget } from '../../src/backup/disk-target.js'
import { ControlClient } from '../../src/control/client.js'
import { forwarded } from '../../src/disk/forwarded-disk.js'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { backupWithoutRoom } from '../../src/engine/life/backup-pins.js'
import { isWaybillError, openQueue, serveControl, type Queue, type QueueOptions } from '../../src/index.js'
import type { OpenOptions } from '../../src/queue.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { dropMail, makeMaildrop } from '../../src/relay/maildrop/maildrop-file.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { backup } from '../../tools/commands/operate/backup.js'
import { restore } from '../../tools/commands/operate/restore.js'
import { laySmallQueue } from '../end-to-end/laid-queue.js'
import { codeOf, mail, submission } from '../engine/stage.js'
import { command } from '../inspect/commanded.js'
import { temporaryDirectory } from '../temporary-directory.js'

interface Place {
  readonly queue: string
  readonly at: (name: string) => string
}

async function place(): Promise<Place> {
  const root = await temporaryDirectory('backup')
  const queue = join(root, 'queue')
  laySmallQueue(queue)
  return { queue, at: (name) => join(root, name) }
}

const nobody: Pick<QueueOptions, 'transports' | 'route'> = {
  transports: { none: { deliver: () => ({ kind: 'delivered' }) } },
  route: () => ({ transport: 'none', nexthop: 'none' }),
}

async function opened(directory: string): Promise<Queue> {
  const queue = await openQueue(directory, { ...nobody, deliver: false, lockWaitMs: 5000 })
  onTestFinished(() => queue.crash())
  return queue
}

async function recipientsOf(queue: Queue): Promise<string[]> {
  while (queue.stats().recovering) await new Promise<void>((resolve) => setTimeout(resolve, 5))
  const recipients: string[] = []
  for await (const message of queue.list()) recipients.push(...message.recipients)
  return recipients.sort()
}

interface Answer {
  readonly exitCode: number
  readonly out: string
  readonly complaints: string
}

async function called(inspected: typeof backup | typeof restore, ...args: string[]): Promise<Answer> {
  const { signal } = new AbortController()
  const { exitCode, stdout, stderr } = await command(inspected, args, nodeDisk, Date.now(), signal)
  return { exitCode, out: stdout, complaints: stderr }
}

/** Larger than what stands in the journal. */
const large = mail('y'.repeat(90).concat('\r\n').repeat(2000))

test.each(['copy', 'copy.tar'])(
  'a queue that its process backs up is restored from %s with all its mail',
  async (name) => {
    const { queue: directory, at } = await place()
    const queue = await opened(directory)
    await queue.submit(submission('small@example.net'))
    const { id } = await queue.submit(submission('large@example.net', large))
    await queue.submit({ ...submission('held@example.net'), idempotencyKey: 'one' })
    await queue.hold({ recipient: 'held@example.net' })
    await queue.backup({ to: at(name) })
    await queue.submit(submission('later@example.net'))
    expect(await called(restore, '--from', at(name), '--to', at('new'))).toMatchObject({
      exitCode: 0,
      complaints: '',
      out: expect.stringMatching(
        /2 messages to 2 recipients will be sent.*1 message on hold.*the queue is in/s,
      ),
    })
    expect(await readdir(at('.'))).toEqual([name, 'new', 'queue'].sort())
    const restored = await opened(at('new'))
    expect(await recipientsOf(restored)).toEqual([
      'held@example.net',
      'large@example.net',
      'small@example.net',
    ])
    const spools = await readdir(join(at('new'), 'spool'))
    expect((await readFile(join(at('new'), 'spool', spools[0]!))).toString()).toBe(large)
    expect(id).not.toBe('')
    const again = await restored.submit({ ...submission('held@example.net'), idempotencyKey: 'one' })
    expect(await recipientsOf(restored)).toHaveLength(3)
    expect(again.id).not.toBe(id)
  },
)

test('a place that is taken, or not there, is a wrong call of either command', async () => {
  const { queue, at } = await place()
  await expect(called(backup, '--queue', queue, '--to', at('.'))).rejects.toThrow('is there already')
  expect((await called(backup, '--queue', queue, '--to', at('copy'))).exitCode).toBe(0)
  await expect(called(restore, '--from', at('copy'), '--to', at('.'))).rejects.toThrow('is there already')
  await expect(called(restore, '--from', at('none'), '--to', at('new'))).rejects.toThrow('no such file')
  // It promises to send nothing that it cannot restore.
  await expect(called(restore, '--from', at('none'), '--to', at('.'))).rejects.toThrow('is there already')
})

test('a listener of progress that throws ends no backup', async () => {
  const { queue: directory, at } = await place()
  const queue = await opened(directory)
  let toldCount = 0
  const onProgress = (): never => {
    toldCount++
    throw new Error('of the listener')
  }
  await queue.backup({ to: at('copy'), onProgress })
  expect(toldCount).toBeGreaterThan(0)
  expect((await called(restore, '--from', at('copy'), '--to', at('new'))).exitCode).toBe(0)
})

test('the command copies a queue whose owner goes on', async () => {
  const { queue: directory, at } = await place()
  const queue = await opened(directory)
  const control = await serveControl(queue, directory)
  onTestFinished(() => control.close())
  await queue.submit(submission())
  const answer = await called(backup, '--queue', directory, '--to', at('copy.tar'))
  expect(answer).toMatchObject({ exitCode: 0, complaints: '', out: expect.stringContaining('copy.tar') })
  await queue.submit(submission('later@example.net'))
  await called(restore, '--from', at('copy.tar'), '--to', at('new'))
  expect(await recipientsOf(await opened(at('new')))).toEqual(['grace@example.net'])
})

test('the command copies a queue that nobody has open, also one that was never used', async () => {
  const { queue: directory, at } = await place()
  expect((await called(backup, '--queue', directory, '--to', at('unused'))).exitCode).toBe(0)
  const queue = await opened(directory)
  await queue.submit(submission())
  queue.crash()
  expect(await called(backup, '--queue', directory, '--to', at('used'))).toMatchObject({
    exitCode: 0,
    complaints: '',
  })
  for (const [name, count] of [
    ['unused', 0],
    ['used', 1],
  ] as const) {
    expect(await called(restore, '--from', at(name), '--to', at(`new-${name}`))).toMatchObject({
      exitCode: 0,
    })
    expect(await recipientsOf(await opened(at(`new-${name}`)))).toHaveLength(count)
  }
})

test('what sendmail has left is in the copy, and waits for the relay there', async () => {
  const { queue: directory, at } = await place()
  await makeMaildrop(directory)
  const message = {
    sender: 'ada@example.org',
    recipients: ['grace@example.net'],
    dsn: {},
    data: Buffer.from(mail()),
  }
  const id = await dropMail(directory, message)
  await writeFile(join(directory, 'maildrop', `${newMessageId()}.${'0'.repeat(32)}.mail`), 'half', {
    mode: 0o600,
  })
  await called(backup, '--queue', directory, '--to', at('copy.tar'))
  const { out } = await called(restore, '--from', at('copy.tar'), '--to', at('new'))
  expect(out).toContain('1 message of sendmail is sent, too')
  const [name, ...others] = await readdir(join(at('new'), 'taken'))
  expect(others).toEqual([])
  expect(name).toMatch(new RegExp(`^${id}\\.`))
  expect((await stat(join(at('new'), 'taken', name!))).mode & 0o777).toBe(0o744)
})

test('nothing is overwritten, and nothing is left of what fails', async () => {
  const { queue: directory, at } = await place()
  const queue = await opened(directory)
  await mkdir(at('there'))
  await writeFile(at('there.tar'), 'mine')
  const before = await readdir(at('.'))
  for (const to of [at('there'), at('there.tar'), join(directory, 'inside'), ''])
    expect(await codeOf(queue.backup({ to }))).toBe('OPTION_INVALID')
  for (const to of [at('missing/copy'), at('missing/copy.tar')])
    expect(await codeOf(queue.backup({ to }))).toBe('DISK_FAILED')
  for (const to of [at('copy'), at('copy.tar')])
    expect(await codeOf(queue.backup({ to, signal: AbortSignal.abort() }))).toBe('VERB_ABORTED')
  expect(await readdir(at('.'))).toEqual(before)
  expect(await readFile(at('there.tar'), 'utf8')).toBe('mine')
})

test('a backup that was cut short, or that something is missing of, is refused', async () => {
  const { queue: directory, at } = await place()
  const queue = await opened(directory)
  await queue.submit(submission('large@example.net', large))
  for (const to of [at('copy'), at('copy.tar'), at('short.tar')]) await queue.backup({ to })
  await truncate(at('short.tar'), 100_000)
  const [spool] = await readdir(join(at('copy'), 'spool'))
  await rm(join(at('copy'), 'spool', spool!))
  const refused = async (from: string): Promise<string> => {
    const { exitCode, complaints } = await called(restore, '--from', from, '--to', at('new'))
    expect(exitCode).toBe(1)
    return complaints
  }
  expect(await refused(at('short.tar'))).toMatch(/NOT_A_QUEUE/)
  expect(await refused(at('copy'))).toMatch(/NOT_A_QUEUE: the backup has \d+ files/)
  expect(await refused(directory)).toMatch(/NOT_A_QUEUE: backup.json is missing/)
  await expect(stat(at('new'))).rejects.toThrow('ENOENT')
})

test('a backup in which something rotted is not restored', async () => {
  const { queue: directory, at } = await place()
  const queue = await opened(directory)
  await queue.submit(submission())
  await queue.submit(submission())
  await queue.backup({ to: at('copy') })
  const [segment] = await readdir(join(at('copy'), 'journal'))
  const path = join(at('copy'), 'journal', segment!)
  const bytes = await readFile(path)
  bytes[4096 + 40]! ^= 1
  await writeFile(path, bytes)
  const { exitCode, complaints } = await called(restore, '--from', at('copy'), '--to', at('new'))
  expect(exitCode).toBe(1)
  expect(complaints).toMatch(/damage: journal.*no queue is made of it/s)
  await expect(stat(at('new'))).rejects.toThrow('ENOENT')
})

test('a dry run says what would be sent, and makes nothing', async () => {
  const { queue: directory, at } = await place()
  const queue = await opened(directory)
  await queue.submit(submission(['one@example.net', 'two@example.net']))
  await queue.backup({ to: at('copy') })
  const { out } = await called(restore, '--json', '--dry-run', '--from', at('copy'), '--to', at('new'))
  expect(JSON.parse(out)).toMatchObject({ messages: 1, recipients: 2, incoming: 1, hold: 0 })
  await expect(stat(at('new'))).rejects.toThrow('ENOENT')
})

/** A simulated queue whose files are kept, with 400 kB of its disk free. */
async function keptOnSmallDisk(
  world: SimWorld,
  disk: SimDisk,
  more: Pick<OpenOptions, 'disk' | 'freeBytesMin'>,
): Promise<{ readonly queue: Queue; readonly pinned: KeptFiles }> {
  const queue = await openQueue('queue', {
    ...nobody,
    clock: world.clock,
    prng: world.fork(),
    segmentBytes: 16 * 4096,
    laneSegmentBytes: 8 * 4096,
    inlineBytesMax: 4096,
    checkpointIntervalMs: 20,
    retry: fixedRetry([100]),
    ...more,
  })
  const pinned = await queue.pinFiles()
  disk.image.size = { capacityBytes: 1e9, capacityFiles: 1e6 }
  const usedBytes = 1e9 - disk.image.space().freeBytes
  disk.image.size = { capacityBytes: usedBytes + 400_000, capacityFiles: 1e6 }
  return { queue, pinned }
}

test('a disk that gets full while files are kept ends the backup, and is given them', async () => {
  const world = new SimWorld({ seed: 1, overtakeMsMax: 1000 })
  await world.settle(
    (async () => {
      const disk = new SimDisk(world)
      const { queue, pinned } = await keptOnSmallDisk(world, disk, { disk, freeBytesMin: 20_000 })
      for (let refused = ''; refused !== 'DISK_FULL' && !pinned.lost.aborted;) {
        refused = await codeOf(queue.submit(submission('large@example.net', mail('z\r\n'.repeat(2000)))))
        await queue.idle()
      }
      while (!pinned.lost.aborted) await new Promise<void>((resolve) => world.clock.after(100, resolve))
      expect(isWaybillError(pinned.lost.reason, 'DISK_FULL')).toBe(true)
      const spools = (): string[] => disk.image.files().filter((path) => path.startsWith('spool/'))
      for (let waits = 0; spools().length > 0 && waits < 100; waits++)
        await new Promise<void>((resolve) => world.clock.after(1000, resolve))
      expect(spools()).toEqual([])
      expect(await codeOf(queue.submit(submission()))).toBe('accepted')
      queue.crash()
    })(),
  )
})

test('under a quota mail that needs room ends the backup as well', async () => {
  const world = new SimWorld({ seed: 1, overtakeMsMax: 1000 })
  await world.settle(
    (async () => {
      const disk = new SimDisk(world)
      const { queue, pinned } = await keptOnSmallDisk(world, disk, {
        disk: { ...forwarded(disk), space: async () => ({ freeBytes: 1e12, freeFiles: 1e6 }) },
      })
      const data = mail('z\r\n'.repeat(20))
      for (let count = 0; count < 2000 && !pinned.lost.aborted; count++) {
        await codeOf(queue.submit(submission('someone@example.net', data)))
        await queue.idle()
      }
      expect(isWaybillError(pinned.lost.reason, 'DISK_FULL')).toBe(true)
      expect(await codeOf(pinned.confirm())).toBe('DISK_FULL')
      for (let waits = 0; waits < 20; waits++)
        await new Promise<void>((resolve) => world.clock.after(1000, resolve))
      expect(await codeOf(queue.submit(submission('someone@example.net', data)))).toBe('accepted')
      queue.crash()
    })(),
  )
})

test('a backup whose files were not kept to its end fails, though the relay says so last', async () => {
  const { queue: directory, at } = await place()
  const queue = await opened(directory)
  await queue.submit(submission())
  const lost = new AbortController()
  const losing = new Proxy(queue, {
    get: (_, name) =>
      name === 'pinFiles'
        ? async () => ({ ...(await queue.pinFiles()), lost: lost.signal })
        : (Reflect.get(queue, name) as () => unknown).bind(queue),
  })
  const control = await serveControl(losing, directory)
  onTestFinished(() => control.close())
  const client = await ControlClient.connect(directory)
  const keep = async (): Promise<KeptFiles> => {
    const kept = await client!.pin()
    lost.abort(backupWithoutRoom())
    // The copy is made before anybody reads what the relay says.
    return { ...kept, lost: new AbortController().signal }
  }
  const disk = nodeDisk(directory)
  onTestFinished(() => disk.abandon())
  expect(await codeOf(backUp({ disk, directory, keep, clock: systemClock }, { to: at('copy') }))).toBe(
    'DISK_FULL',
  )
  await expect(stat(at('copy'))).rejects.toThrow('ENOENT')
})

test('a copy for which there is no room leaves nothing', async () => {
  const world = new SimWorld({ seed: 1, order: 'fifo' })
  await world.settle(
    (async () => {
      const disk = new SimDisk(world, { size: { capacityBytes: 40_000, capacityFiles: 100 } })
      const target = new DiskTarget(disk, { fills: true })
      const pieces = async function* (): AsyncGenerator<Buffer> {
        yield Buffer.alloc(10_000, 1)
      }
      await target.add({ path: 'lanes/2/data/a', bytes: 10_000, lengthBytes: 10_000 }, pieces())
      const failing = target.add({ path: 'journal/b', bytes: 10_000, lengthBytes: 65_536 }, pieces())
      expect(await codeOf(failing)).toBe('DISK_FULL')
      await target.abandon()
      expect(disk.image.files()).toEqual([])
    })(),
  )
})

test('two backups may be taken at once', async () => {
  const { queue: directory, at } = await place()
  const queue = await opened(directory)
  await queue.submit(submission())
  const reports = await Promise.all([queue.backup({ to: at('one') }), queue.backup({ to: at('two.tar') })])
  expect(reports.map(({ fileCount }) => fileCount)).toEqual([3, 3])
  for (const from of [at('one'), at('two.tar')])
    expect((await called(restore, '--dry-run', '--from', from)).out).toContain('1 message to 1 recipient')
})
