/** Damage to a journal that is full of outcomes, and what is rescued then: nothing that never was,
 * nothing twice, nothing that was delivered where the journal still says so, and a word where it no
 * longer does. `WAYBILL_DAMAGES=1000` rescues from so many. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { Messages } from '../../src/inspect/messages/messages.js'
import { QueueDirectory } from '../../src/inspect/queue/queue-directory.js'
import { takeSnapshot } from '../../src/inspect/queue/snapshot.js'
import { kindAt, kinds } from '../../src/record/frame.js'
import { waitingAddresses } from '../../src/inspect/messages/waiting-recipients.js'
import { Anatomy } from './anatomy.js'
import { damage } from './damage.js'
import { bodyOf } from './fixture-queue.js'
import type { Files } from './memory-disk.js'
import { messageCount, outcomeQueue, owedOf } from './outcome-queue.js'
import { rescued } from './rescued.js'

const damageCount = Number(process.env['WAYBILL_DAMAGES'] ?? 80)
const sound = await outcomeQueue()
const anatomy = new Anatomy(sound.files)

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-outcomes-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

interface Rescued {
  readonly said: string
  /** By the number of the message: each time that it is there. */
  readonly mail: ReadonlyMap<number, readonly { readonly where: string; readonly to: readonly string[] }[]>
  /** Data that was never submitted. */
  readonly alien: number
}

async function rescue(files: Files, to: string): Promise<Rescued> {
  const { stdout } = await rescued(files, sound, to)
  const opened = nodeDisk(to)
  try {
    const queue = (await QueueDirectory.open(opened, () => undefined))!
    const report = ({ reason }: { reason: string }): never => expect.fail(reason)
    const messages = new Messages(queue, await takeSnapshot(queue), { report })
    const mail = new Map<number, { where: string; to: readonly string[] }[]>()
    let alien = 0
    for await (const batch of messages.batches())
      for (const message of batch) {
        const data = (await messages.content.data(message))!
        const number = Number(/^Subject: message (\d+)\r/.exec(data.toString())?.[1])
        if (!data.equals(bodyOf(number, 400))) alien++
        const copy = { where: message.where, to: await waitingAddresses(message, messages.content) }
        mail.set(number, [...(mail.get(number) ?? []), copy])
      }
    return { said: stdout, mail, alien }
  } finally {
    opened.abandon()
  }
}

/** Files with a bit turned over in every frame of a kind in the journal. */
function without(kind: keyof typeof kinds): Files {
  const files = new Map(sound.files)
  let count = 0
  for (const { path, at, bytes } of anatomy.frames(
    0,
    anatomy.indexes[0]! * anatomy.segmentBytes,
    (anatomy.newest + 1) * anatomy.segmentBytes,
  )) {
    if (kindAt(bytes, at) !== kinds[kind]) continue
    count++
    const changed = Buffer.from(files.get(path)!)
    changed[at + 17]! ^= 1
    files.set(path, changed)
  }
  expect(count).toBeGreaterThan(0)
  return files
}

test('undamaged, what is owed is rescued, and what was on hold is on hold', async () => {
  const { mail, said } = await rescue(sound.files, join(directory, 'new'))
  for (let i = 0; i < messageCount; i++)
    expect([i, mail.get(i)?.map(({ to }) => [...to])]).toEqual([i, i % 4 === 0 ? undefined : [owedOf(i)]])
  for (let i = 3; i < messageCount; i += 8) expect(mail.get(i)?.[0]?.where).toBe('hold')
  expect([...mail.values()].filter(([copy]) => copy?.where === 'hold')).toHaveLength(messageCount / 8 + 0.5)
  expect(said).not.toContain('journal is damaged')
})

test('a message that has moved on is saved once, where the record that says so is damaged', async () => {
  const { mail } = await rescue(without('replaced'), join(directory, 'new'))
  for (let i = 1; i < messageCount; i++)
    expect([i, mail.get(i)?.map(({ to }) => [...to])]).toEqual([i, i % 4 === 0 ? undefined : [owedOf(i)]])
  for (let i = 3; i < messageCount; i += 8) expect(mail.get(i)?.[0]?.where).toBe('hold')
})

test('without any checkpoint the journal still says what is owed, and all of that is saved', async () => {
  const { mail } = await rescue(without('checkpoint'), join(directory, 'new'))
  for (let i = 0; i < messageCount; i++)
    expect([i, mail.get(i)?.map(({ to }) => [...to])]).toEqual([i, i % 4 === 0 ? undefined : [owedOf(i)]])
})

test('without a journal all that stands in the lanes is saved, each message once, and told to be uncertain', async () => {
  const files = new Map(sound.files)
  for (const path of files.keys())
    if (/^journal\/.*\.log$/.test(path)) files.set(path, Buffer.from(files.get(path)!).fill(0, 0, 44))
  const { mail, said } = await rescue(files, join(directory, 'new'))
  for (let i = 0; i < messageCount; i++)
    expect([i, mail.get(i)?.map(({ to }) => [...to])]).toEqual([i, i % 2 === 0 ? undefined : [owedOf(i)]])
  for (let i = 3; i < messageCount; i += 8) expect(mail.get(i)?.[0]?.where).toBe('hold')
  expect(said).toContain(`${messageCount / 2} of them may have been delivered before`)
})

test('where damage took a delivery it is told that mail may come twice', async () => {
  const { mail, said } = await rescue(without('delivery'), join(directory, 'new'))
  const again = [...mail].flatMap(([i, copies]) =>
    copies[0]!.to.filter((to) => i < messageCount && !owedOf(i).includes(to)),
  )
  expect(again.length).toBeGreaterThan(0)
  expect(said).toContain('the journal is damaged')
})

test(`of ${damageCount} damaged journals nothing is rescued that never was, nothing twice, nothing delivered without a word`, async () => {
  const violations: string[] = []
  const journal = new Map([...sound.files].filter(([path]) => /^journal\/.*\.log$/.test(path)))
  for (let seed = 1; seed <= damageCount; seed++) {
    const what: string[] = []
    let damaged: Files = journal
    for (let count = 0; count <= seed % 3; count++) {
      const next = damage(damaged, 1000 * seed + count)
      damaged = next.files
      what.push(next.what)
    }
    const others = [...sound.files].filter(([path]) => !journal.has(path))
    const to = join(directory, String(seed))
    const { mail, alien, said } = await rescue(new Map([...others, ...damaged]), to)
    const violated = (violation: string): unknown =>
      violations.push(`${what.join(', ')}: ${violation}\n${said}`)
    if (alien > 0) violated('data that was never submitted')
    for (const [i, copies] of mail) {
      if (copies.length > 1) violated(`message ${i} is there ${copies.length} times`)
      const again = copies
        .flatMap(({ to: addresses }) => addresses)
        .filter((address) => i < messageCount && !owedOf(i).includes(address))
      const isTold = /the journal is damaged|torn tail/.test(said)
      // A tail of zeroes is that of a queue in which nothing was written yet.
      const isZeroed = what.some((one) => one.includes('zeroes'))
      if (again.length > 0 && !isTold && !isZeroed) violated(`message ${i} again to ${again.join(' ')}`)
    }
    await rm(to, { recursive: true, force: true })
  }
  expect(violations).toEqual([])
}, 600_000)
