/** What is rescued from a damaged queue, against what its bytes say: a message whose envelope,
 * recipients and data are as they were must arrive; of one that does not, it must be told.
 * `WAYBILL_DAMAGES=500` rescues from so many. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { crc32 } from '../../src/base/checksum.js'
import { diskFailure } from '../../src/disk/failure.js'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { openQueue, type AskedRecipient, type DeliveryRequest, type Outcome } from '../../src/index.js'
import { Messages } from '../../src/inspect/messages/messages.js'
import { QueueDirectory } from '../../src/inspect/queue/queue-directory.js'
import { takeSnapshot } from '../../src/inspect/queue/snapshot.js'
import { logRescue } from '../../tools/commands/look/log-rescue.js'
import { logVerify } from '../../tools/commands/look/log-verify.js'
import { Anatomy, checkedOf, type Part, type TakenApart } from './anatomy.js'
import { command } from './commanded.js'
import { damage, type Damaged } from './damage.js'
import { BytesThatCount, type DamageClass } from './damage-class.js'
import { frozenQueue } from './frozen-queue.js'
import { MemoryDisk, type Files } from './memory-disk.js'
import { rescued } from './rescued.js'

const damageCount = Number(process.env['WAYBILL_DAMAGES'] ?? 60)
const sound = frozenQueue()
const anatomy = new Anatomy(sound.files)
const bytesThatCount = new BytesThatCount(anatomy)

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-rescue-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

interface Rescued {
  readonly exitCode: number
  readonly saved: number
  /** Lines about single messages. */
  readonly lost: readonly string[]
  readonly damages: number
}

async function rescue(files: Files, to: string): Promise<Rescued> {
  const { exitCode, stdout } = await rescued(files, sound, to, '--json')
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { saved?: number; lost?: string | number; damages?: number })
  const last = lines.at(-1)!
  const lost = lines.flatMap(({ lost: told }) => (typeof told === 'string' ? told : []))
  return { exitCode, saved: last.saved!, damages: last.damages!, lost }
}

interface Found {
  readonly sender: string
  readonly recipientCount: number
  readonly checksum: number
}

async function mailIn(path: string): Promise<Found[]> {
  const disk = nodeDisk(path)
  try {
    const queue = (await QueueDirectory.open(disk, () => undefined))!
    const messages = new Messages(queue, await takeSnapshot(queue), {
      report: ({ reason }) => expect.fail(reason),
    })
    const found: Found[] = []
    for await (const batch of messages.batches())
      for (const message of batch) {
        const { sender, recipientCount } = message.envelope
        found.push({ sender, recipientCount, checksum: crc32((await messages.content.data(message))!) })
      }
    return found
  } finally {
    disk.abandon()
  }
}

/** As it was, and so is the header of the segment that it stands in. */
function isWhole(part: Part, files: Files): boolean {
  const isSame = (path: string, from: number, to?: number): boolean =>
    files.get(path)?.subarray(from, to).equals(sound.files.get(path)!.subarray(from, to)) ?? false
  if (part.kind === 'spool') return isSame(part.path, 0)
  return isSame(part.frame.path, 0, 44) && isSame(part.frame.path, ...checkedOf(part.frame))
}

const asFound = ({ envelope, owedCount }: TakenApart): Found => ({
  sender: envelope.sender,
  recipientCount: owedCount,
  checksum: envelope.checksum,
})

const sorted = (found: readonly Found[]): Found[] => [...found].sort((a, b) => a.checksum - b.checksum)

/** The journal says of everything what it said. */
const leavesJournal = (damageClass: DamageClass): boolean =>
  damageClass.kind === 'idle' ||
  (damageClass.kind === 'counts' &&
    damageClass.changed.every(({ log, isPinned }) => isPinned || log !== 'journal'))

async function violationsOf(damaged: Damaged, to: string): Promise<string[]> {
  const damageClass = bytesThatCount.classOf(damaged)
  const { exitCode, saved, lost, damages } = await rescue(damaged.files, to)
  const violations: string[] = []
  const found = sorted(await mailIn(to))
  const verified = await command(logVerify, ['--queue', to], nodeDisk, sound.nowMs)
  if (!/^sound$/m.test(verified.stdout)) violations.push(`the new queue is not sound: ${verified.stdout}`)
  if (found.length !== saved) violations.push(`${found.length} messages arrived, ${saved} were told`)
  const all = anatomy.messages.map(asFound)
  const isKnown = ({ sender, checksum }: Found): boolean =>
    all.some((message) => message.checksum === checksum && message.sender === sender)
  if (!found.every(isKnown)) violations.push('what arrived was never in the queue')
  const isShort = damageClass.kind === 'counts' && found.length < all.length
  if (isShort && exitCode === 0) violations.push('it says nothing of what did not arrive')
  if (!leavesJournal(damageClass)) return violations
  const whole = anatomy.messages.filter(({ parts }) => parts.every((part) => isWhole(part, damaged.files)))
  if (JSON.stringify(found) !== JSON.stringify(sorted(whole.map(asFound))))
    violations.push(`${found.length} messages arrived, ${whole.length} are whole`)
  for (const { parts, envelope } of anatomy.messages) {
    const isReadable = isWhole(parts[0]!, damaged.files)
    if (!isReadable && damages === 0) violations.push(`${envelope.id} is lost, and no damage is told`)
    const isTold = lost.some((line) => line.startsWith(envelope.id))
    const isLost = isReadable && !parts.every((part) => isWhole(part, damaged.files))
    if (isLost !== isTold)
      violations.push(`${envelope.id}: ${isLost ? 'not told to be lost' : 'told to be lost'}`)
  }
  return violations
}

test(`of ${damageCount} damaged queues all that is whole arrives in a sound one, and what does not is told`, async () => {
  const violations: string[] = []
  for (let seed = 50_001; seed <= 50_000 + damageCount; seed++) {
    const damaged = damage(sound.files, seed)
    const to = join(directory, String(seed))
    for (const violation of await violationsOf(damaged, to)) violations.push(`${damaged.what}: ${violation}`)
    await rm(to, { recursive: true, force: true })
  }
  expect(violations).toEqual([])
}, 600_000)

test('a rescued queue opens, and what was saved is delivered, with its data, what was on hold when it is released', async () => {
  const flipped = Buffer.from(sound.files.get('lanes/3/data/000000000000.log')!)
  flipped[5000]! ^= 1
  const to = join(directory, 'new')
  const { saved, lost } = await rescue(new Map(sound.files).set('lanes/3/data/000000000000.log', flipped), to)
  expect([saved, lost.length]).toEqual([36, 1])
  const subjects = new Set<string>()
  const queue = await openQueue(to, {
    transports: {
      all: {
        deliver: async (request) => {
          const data = await request.data()
          subjects.add(Buffer.isBuffer(data) ? data.toString('latin1', 0, 30).split('\r\n')[0]! : data.ref)
          return { kind: 'delivered' }
        },
      },
    },
    route: () => ({ transport: 'all', nexthop: 'everywhere' }),
  })
  try {
    await queue.idle()
    expect(subjects.size).toBe(33)
    expect(await queue.release({ all: true })).toMatchObject({ messageCount: 3 })
    await expect.poll(() => subjects.size).toBe(36)
    expect([...subjects].every((subject) => /^Subject: message \d+$/.test(subject))).toBe(true)
  } finally {
    queue.crash()
  }
})

test('a new queue inside the old one is refused, and nothing is made of it', async () => {
  const source = new MemoryDisk(sound.files, sound.directories)
  const from = join(directory, 'queue')
  const disk = (path: string): ReturnType<typeof nodeDisk> => (path === from ? source : nodeDisk(path))
  const asked = command(logRescue, [from, '--to', join(from, 'new')], disk, sound.nowMs)
  await expect(asked).rejects.toThrow('inside')
  expect(existsSync(from)).toBe(false)
})

test('nor is one made inside the old one by way of a link, or where there is a file', async () => {
  const from = join(directory, 'queue')
  await mkdir(join(from, 'lanes'), { recursive: true })
  await symlink(from, join(directory, 'link'))
  await writeFile(join(directory, 'file'), '')
  const source = new MemoryDisk(sound.files, sound.directories)
  const disk = (path: string): ReturnType<typeof nodeDisk> => (path === from ? source : nodeDisk(path))
  const to = (...path: string[]) =>
    command(logRescue, [from, '--to', join(directory, ...path)], disk, sound.nowMs)
  await expect(to('link', 'lanes', 'new')).rejects.toThrow('inside')
  expect(existsSync(join(from, 'lanes', 'new'))).toBe(false)
  await expect(to('file')).rejects.toThrow('file is no directory')
  await expect(to('file', 'new')).rejects.toThrow('new is no directory')
})

test('what the new disk has no room for is told message by message, and the rescue ends with 1', async () => {
  const from = join(directory, 'from')
  const route = () => ({ transport: 'site', nexthop: 'to.example' })
  const old = await openQueue(from, { transports: {}, route, deliver: false, segmentBytes: 2 ** 20 })
  const mail = { sender: 'sender@from.example', recipients: ['r@to.example'] }
  await old.submit({ ...mail, data: 'Subject: small\r\n\r\n' })
  const { id } = await old.submit({ ...mail, data: 'large\r\n'.repeat(100_000) })
  old.crash()
  const to = join(directory, 'to')
  const disk = (path: string): ReturnType<typeof nodeDisk> => {
    const real = nodeDisk(path)
    if (path !== to) return real
    const open = real.open.bind(real)
    real.open = (name, mode) =>
      name.startsWith('spool/') ? Promise.reject(diskFailure('create', name, 'ENOSPC')) : open(name, mode)
    return real
  }
  const { exitCode, stdout } = await command(logRescue, [from, '--to', to], disk, Date.now())
  expect(exitCode).toBe(1)
  expect(stdout.split('\n').slice(0, 2)).toEqual([
    expect.stringContaining(`not saved: ${id} from <sender@from.example>: DISK_FULL: `),
    expect.stringMatching(/^1 message with 1 recipient saved/),
  ])
})

test('what senders asked is rescued with each recipient', async () => {
  const recipientsOf = (count: number): AskedRecipient[] =>
    Array.from({ length: count }, (_, i) => ({
      address: `r${i}@to.example`,
      notify: ([undefined, 'never', ['success', 'delay']] as const)[i % 3],
      orcpt: i % 5 === 0 ? `rfc822;original${i}@from.example` : undefined,
    }))
  const from = join(directory, 'from')
  const route = () => ({ transport: 'site', nexthop: 'to.example' })
  const old = await openQueue(from, { transports: {}, route, deliver: false, segmentBytes: 2 ** 20 })
  const mail = { sender: 'sender@from.example', data: 'Subject: asked\r\n\r\n' }
  for (const count of [3, 1003])
    await old.submit({ ...mail, recipients: recipientsOf(count), dsn: { id: `of ${count}`, return: 'full' } })
  old.crash()
  const to = join(directory, 'to')
  const { exitCode } = await command(logRescue, [from, '--to', to], nodeDisk, Date.now())
  expect(exitCode).toBe(0)
  const told: AskedRecipient[] = []
  const ids = new Set<string | undefined>()
  const deliver = ({ recipients, dsn }: DeliveryRequest): Outcome => {
    recipients.forEach((address, i) => told.push({ address, ...dsn?.recipients[i] }))
    if (dsn?.ret === 'full') ids.add(dsn.envid)
    return { kind: 'delivered', relayed: 'with-dsn' }
  }
  const queue = await openQueue(to, { transports: { site: { deliver } }, route })
  await queue.idle()
  queue.crash()
  expect(ids).toEqual(new Set(['of 3', 'of 1003']))
  const byAddress = (one: AskedRecipient, other: AskedRecipient): number =>
    one.address.localeCompare(other.address)
  expect(told.sort(byAddress)).toEqual([...recipientsOf(3), ...recipientsOf(1003)].sort(byAddress))
})
