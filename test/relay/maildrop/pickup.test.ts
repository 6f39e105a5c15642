/** A relay takes up what programs have left, each message once, whatever ends it in between. */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, rmdir, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { WaybillError, type ErrorCode } from '../../../src/errors.js'
import type { MessageId } from '../../../src/base/message-id.js'
import { dropMail, makeMaildrop, type DroppedMail } from '../../../src/relay/maildrop/maildrop-file.js'
import { Pickup, type PickupOptions } from '../../../src/relay/maildrop/pickup.js'
import type { SubmitPort } from '../../../src/relay/smtp-in/smtp-handlers.js'
import { aliasesIn } from '../../../src/relay/tables/aliases.js'
import { relayDomainsIn } from '../../../src/relay/tables/relay-domains.js'
import { sendersIn } from '../../../src/relay/tables/senders.js'

let queue: string
let submitted: Parameters<SubmitPort['submit']>[0][]
let refused: string[]
let troubles: unknown[]
let reported: unknown[]
beforeEach(async () => {
  queue = await mkdtemp(join(tmpdir(), 'waybill-pickup-'))
  await makeMaildrop(queue)
  submitted = []
  refused = []
  troubles = []
  reported = []
})
afterEach(() => rm(queue, { recursive: true, force: true }))

const drop = (recipient = 'b@example.net', more: Partial<DroppedMail> = {}): Promise<MessageId> =>
  dropMail(queue, {
    sender: 'a@example.org',
    recipients: [recipient],
    dsn: {},
    data: Buffer.from('x\n'),
    ...more,
  })
const names = (directory = 'maildrop'): Promise<string[]> => readdir(join(queue, directory))

function pickup(changes: Partial<PickupOptions> = {}): Pickup {
  return new Pickup({
    queue,
    port: {
      limits: { dataBytesMax: 1000, recipientCountMax: 10 },
      submit: async (submission) => {
        submitted.push(submission)
        return { id: submission.id }
      },
    },
    sizeBytesMax: 1000,
    hostname: 'mx.example.net',
    onRefusal: (path) => refused.push(path),
    onReported: (_, recipients) => reported.push(...recipients),
    onTrouble: (error) => troubles.push(error),
    ...changes,
  })
}

/** A queue that answers so. */
const answering = (answer: () => Promise<{ id: string }>): SubmitPort => ({
  limits: { dataBytesMax: 1000, recipientCountMax: 10 },
  submit: (submission) => {
    submitted.push(submission)
    return answer()
  },
})

const failing = (code: ErrorCode): SubmitPort => answering(() => Promise.reject(new WaybillError(code, 'no')))

test('all messages go into the queue under their ids, with a Received field, and their files go', async () => {
  const ids = await Promise.all(Array.from({ length: 120 }, (_, i) => drop(`b${i}@example.net`)))
  await pickup().look()
  expect(submitted.map(({ id }) => id).sort()).toEqual(ids.sort())
  const [first] = submitted
  expect((first!.data as Buffer).toString()).toMatch(
    new RegExp(
      `^Received: by mx\\.example\\.net \\(Waybill, from userid \\d+\\) id ${first!.id};\r\n\t.*\r\nx\n$`,
    ),
  )
  expect(await names()).toEqual([])
})

test('a file stays until its message is durable', async () => {
  await drop()
  let accept: () => void = () => undefined
  const looked = pickup({
    port: answering(() => new Promise((resolve) => (accept = () => resolve({ id: 'x' })))),
  }).look()
  await expect.poll(() => submitted.length).toBe(1)
  expect([await names(), await names('taken')]).toEqual([[], [expect.stringMatching(/\.mail$/)]])
  accept()
  await looked
  expect(await names()).toEqual([])
})

test('a file that an earlier life was taking up is taken up', async () => {
  const id = await drop()
  const [name] = await names()
  await rename(join(queue, 'maildrop', name!), join(queue, 'taken', name!))
  await pickup().look()
  expect(submitted.map((submission) => submission.id)).toEqual([id])
  expect(await names('taken')).toEqual([])
})

test('a message whose file cannot be removed is not submitted again', async () => {
  await drop()
  // A directory is not removed.
  const one = pickup({
    port: answering(async () => {
      const [name] = await names('taken')
      const path = join(queue, 'taken', name!)
      await rename(path, join(queue, 'aside'))
      await mkdir(path)
      return { id: 'x' }
    }),
  })
  await one.look()
  expect([submitted.length, refused, troubles.length]).toEqual([1, [], 1])
  const [name] = await names('taken')
  await rmdir(join(queue, 'taken', name!))
  await rename(join(queue, 'aside'), join(queue, 'taken', name!))
  await one.look()
  expect(submitted).toHaveLength(1)
  expect(await names('taken')).toEqual([])
})

test('a message that the queue refuses for good stays, is told of, and is not tried again', async () => {
  await drop()
  const one = pickup({ port: failing('ADDRESS_INVALID') })
  await one.look()
  await one.look()
  expect(submitted.map(({ sender }) => sender)).toEqual(['a@example.org', ''])
  expect([refused.length, troubles.length]).toEqual([1, 0])
  expect(await names()).toEqual([expect.stringMatching(/\.refused$/)])
})

test('a message for which there is no room is taken at a later look', async () => {
  const id = await drop()
  await pickup({ port: failing('DISK_FULL') }).look()
  expect([refused, troubles.length]).toEqual([[], 1])
  await pickup().look()
  expect(submitted.at(-1)!.id).toBe(id)
  expect(await names()).toEqual([])
})

test('recipients become what the aliases say', async () => {
  await drop('root@mx.example.net')
  const aliases = aliasesIn('root@mx.example.net ada@example.net', 'aliases')
  await pickup({ tables: () => ({ aliases }) }).look()
  expect(submitted[0]!.recipients).toMatchObject([{ address: 'ada@example.net' }])
})

test('a queue without a maildrop has nothing to take up', async () => {
  await rm(join(queue, 'maildrop'), { recursive: true })
  await pickup().look()
  expect([submitted, troubles]).toEqual([[], []])
})

const texts = (): string[] => submitted.map(({ data }) => (data as Buffer).toString())
const mixed = { recipients: ['bad address@@x.example', 'good@example.net'] }

test('a refused recipient is reported to the sender, and the others get the message', async () => {
  const id = await drop('', mixed)
  await pickup().look()
  expect(submitted).toMatchObject([
    {
      sender: '',
      recipients: ['a@example.org'],
      idempotencyKey: expect.stringMatching(RegExp(`^maildrop\\.${id}\\.[0-9a-f]{16}$`)) as string,
    },
    { sender: 'a@example.org', recipients: ['good@example.net'], id },
  ])
  expect(texts()[0]).toContain('bad address@@x.example')
  expect(texts()[0]).toContain('Status: 5.1.3')
  expect([reported.length, refused, await names(), await names('taken')]).toEqual([1, [], [], []])
})

test('a message whose only recipient is refused becomes a report under its id', async () => {
  const id = await drop('no address')
  await pickup().look()
  expect(submitted).toMatchObject([{ sender: '', recipients: ['a@example.org'], id }])
  expect([refused, await names(), await names('taken')]).toEqual([[], [], []])
})

test.each<[string, Partial<DroppedMail>, string]>([
  ['larger than the relay takes', { data: Buffer.alloc(1001, 'x\n') }, '5.3.4'],
  ['a loop', { data: Buffer.from(`${'Received: x\r\n'.repeat(51)}\r\n`) }, '5.4.6'],
  ['for an unknown user', { recipients: ['nobody@d.example'] }, '5.1.1'],
  ['for more recipients than fit', { recipients: Array.from({ length: 12 }, (_, i) => `${i}@x.y`) }, '5.5.3'],
])('a message that is %s is reported to the sender', async (_, more, status) => {
  await drop('', more)
  const relayDomains = relayDomainsIn('ada@d.example', 'relay-domains')
  await pickup({ tables: () => ({ relayDomains }) }).look()
  expect(texts()[0]).toContain(`Status: ${status}`)
  expect(submitted[0]).toMatchObject({ sender: '', recipients: ['a@example.org'] })
  expect([refused, await names(), await names('taken')]).toEqual([[], [], []])
})

test('a header that is longer than clients may send is reported to the sender', async () => {
  await drop('b@example.net', { data: Buffer.from(`X: ${'x'.repeat(1 << 20)}\r\n\r\nbody\r\n`) })
  await pickup({ sizeBytesMax: 2 << 20 }).look()
  expect(texts()[0]).toContain('Status: 5.3.4')
  expect(submitted).toMatchObject([{ sender: '', recipients: ['a@example.org'] }])
  expect([refused, await names(), await names('taken')]).toEqual([[], [], []])
})

test('a message that the queue refuses is reported to the sender', async () => {
  const id = await drop()
  const port: SubmitPort = {
    limits: { dataBytesMax: 1000, recipientCountMax: 10 },
    submit: async (submission) => {
      if (submission.sender !== '') throw new WaybillError('NUL_IN_DATA', 'a NUL')
      submitted.push(submission)
      return { id: submission.id }
    },
  }
  await pickup({ port }).look()
  expect(submitted).toMatchObject([{ sender: '', id }])
  expect(texts()[0]).toContain('b@example.net')
  expect([refused, await names(), await names('taken')]).toEqual([[], [], []])
})

test.each<[string, Partial<DroppedMail>]>([
  ['the null sender', { sender: '' }],
  ['a sender that wants no reports', { dsn: { notify: 'never' } }],
])('a file of %s is kept where a recipient is refused, and the others get the message', async (_, more) => {
  await drop('', { ...mixed, ...more })
  await pickup().look()
  expect(submitted.map(({ recipients }) => recipients)).toEqual([['good@example.net']])
  expect(refused).toEqual([expect.stringMatching(/\.refused$/)])
  expect([await names(), await names('taken')]).toEqual([[expect.stringMatching(/\.refused$/)], []])
})

/** A queue that has room for reports alone. */
const fullWhile = (isFull: () => boolean): SubmitPort => ({
  limits: { dataBytesMax: 1000, recipientCountMax: 10 },
  submit: async (submission) => {
    if (isFull() && submission.sender !== '') throw new WaybillError('DISK_FULL', 'no room')
    submitted.push(submission)
    return { id: submission.id }
  },
})

test('a report is not submitted again while its message waits for room', async () => {
  await drop('', mixed)
  let isFull = true
  const port = fullWhile(() => isFull)
  const one = pickup({ port })
  await one.look()
  await one.look()
  isFull = false
  await one.look()
  expect(submitted.map(({ sender }) => sender)).toEqual(['', 'a@example.org'])
})

test('a recipient that is refused later than others is reported, too', async () => {
  await drop('', { ...mixed, recipients: [...mixed.recipients, 'late@example.net'] })
  let isFull = true
  const port = fullWhile(() => isFull)
  let domains = relayDomainsIn('example.net\n', 'domains')
  const one = pickup({ port, tables: () => ({ relayDomains: domains }) })
  await one.look()
  domains = relayDomainsIn('good@example.net\n', 'domains')
  isFull = false
  await one.look()
  expect(submitted.map(({ sender }) => sender)).toEqual(['', '', 'a@example.org'])
  expect(texts()[1]).toContain('late@example.net')
  expect(submitted[2]?.recipients).toEqual(['good@example.net'])
  const keys = submitted.map(({ idempotencyKey }) => idempotencyKey)
  expect(new Set(keys).size).toBe(3)
})

test('a link under the name of a copy that is to be kept is replaced, and what it leads to is not written', async () => {
  const id = await drop('', { ...mixed, sender: '' })
  const [name = ''] = await names()
  const victim = join(queue, 'victim')
  await writeFile(victim, 'precious')
  await symlink(victim, join(queue, 'maildrop', name.replace('.mail', '.refused')))
  await pickup().look()
  expect(await readFile(victim, 'utf8')).toBe('precious')
  expect(submitted).toMatchObject([{ id, recipients: ['good@example.net'] }])
  const kept = await readFile(join(queue, 'maildrop', name.replace('.mail', '.refused')), 'utf8')
  expect(kept).toContain('good@example.net')
})

test('senders of what was left are shown as the world knows them, and refusals reported there', async () => {
  const tables = {
    senders: sendersIn('@host.internal @example.org\n@mx.example.net @example.org', 'senders'),
    relayDomains: relayDomainsIn('b@example.net', 'relay-domains'),
  }
  const data = Buffer.from('From: root@host.internal\r\nTo: b@example.net\r\n\r\nroot@host.internal\r\n')
  const recipients = ['b@example.net', 'unknown@example.net']
  await drop('', { sender: 'root@host.internal', data, recipients })
  await pickup({ tables: () => tables }).look()
  const [report, mail] = submitted
  expect(report).toMatchObject({ sender: '', recipients: ['root@example.org'] })
  expect((report!.data as Buffer).toString()).toContain('<MAILER-DAEMON@example.org>')
  expect(mail).toMatchObject({ sender: 'root@example.org', recipients: ['b@example.net'] })
  const text = (mail!.data as Buffer).toString()
  expect(text).toMatch(/^Received: by mx\.example\.net /)
  expect(text).toContain('\r\nFrom: root@example.org\r\nTo: b@example.net\r\n\r\nroot@host.internal\r\n')
})
