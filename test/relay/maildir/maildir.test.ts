import {
  link,
  mkdtemp,
  mkdir,
  open as openFile,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
  type FileHandle,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import type { DeliveryResult } from '../../../src/delivery/transport.js'
import { mailboxName, maildirTransport, type MaildirOptions } from '../../../src/relay/maildir/maildir.js'
import { deliver, requestOf, someData } from '../request.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-maildir-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const open = () => maildirTransport({ directory, hostname: 'mx.example.net' })
const newIn = (mailbox: string): Promise<string[]> => readdir(join(directory, mailbox, 'new'))

async function readOnly(mailbox: string): Promise<string> {
  const [name, ...others] = await newIn(mailbox)
  expect(others).toEqual([])
  return readFile(join(directory, mailbox, 'new', name ?? ''), 'latin1')
}

test('a message stands in the recipient’s new, below Return-Path and Delivered-To, byte for byte', async () => {
  await expect(deliver(open())).resolves.toMatchObject([{ kind: 'delivered' }])
  expect(await readOnly('one@example.net')).toBe(
    `Return-Path: <sender@example.org>\r\nDelivered-To: one@example.net\r\n${someData.toString('latin1')}`,
  )
})

test.each([
  ['at once', false],
  ['as a stream', true],
])('the mailbox has one Return-Path, that of the envelope, where data comes %s', async (_, isStreamed) => {
  const rest =
    'Received: x\r\n\tby y\r\nRETURN-path : <c@far.example>\r\nSubject: x\r\n\r\nReturn-Path: <text>\r\n'
  const data = Buffer.from(`Return-Path:\r\n <b@far.example>\r\n${rest}`)
  const stream = (): Readable => Readable.from([data, Buffer.from('Return-Path: <more>\r\n')])
  await deliver(open(), isStreamed ? { dataBytes: 5_000_000, stream } : {}, data)
  expect(await readOnly('one@example.net')).toBe(
    'Return-Path: <sender@example.org>\r\nDelivered-To: one@example.net\r\nReceived: x\r\n\tby y\r\nSubject: x\r\n\r\n' +
      `Return-Path: <text>\r\n${isStreamed ? 'Return-Path: <more>\r\n' : ''}`,
  )
})

test('a message that is a header alone has one Return-Path, too', async () => {
  const data = Buffer.from('Subject: x\r\nReturn-Path: <b@far.example>\r\n')
  await deliver(open(), {}, data)
  expect(await readOnly('one@example.net')).toBe(
    'Return-Path: <sender@example.org>\r\nDelivered-To: one@example.net\r\nSubject: x\r\n',
  )
})

test('a Return-Path that goes on behind the first piece stays whole', async () => {
  const pieces = ['Subject: x\r\nReturn-Path: <b@', 'far.example>\r\n\r\ntext\r\n'].map((text) =>
    Buffer.from(text),
  )
  await deliver(open(), { dataBytes: 5_000_000, stream: () => Readable.from(pieces) })
  expect(await readOnly('one@example.net')).toContain('\r\nReturn-Path: <b@far.example>\r\n\r\ntext\r\n')
})

test('the address of the envelope stands above that of the mailbox, where they differ', async () => {
  const recipients = ['one@example.net', 'two@example.net']
  const asked = [{ orcpt: 'rfc822;info@example.net' }, { orcpt: 'rfc822;two@example.net' }]
  await deliver(open(), { recipients, dsn: { ret: undefined, envid: undefined, recipients: asked } })
  expect(await readOnly('one@example.net')).toMatch(
    /^Return-Path: <.*>\r\nX-Original-To: info@example\.net\r\nDelivered-To: one@example\.net\r\nSubject:/,
  )
  expect(await readOnly('two@example.net')).not.toContain('X-Original-To:')
})

test.each([
  ['utf-8;b\\x{FC}ro@example.net', 'büro@example.net'],
  ['utf-8;\\x{1F4EC}@example.net', '📬@example.net'],
  ['utf-8;a\\x{0A}Evil: yes', 'a\\x{0A}Evil: yes'],
  ['utf-8;a\\x{2028}b\\x{85}\\x{D800}\\x{FFFFFF}', 'a\\x{2028}b\\x{85}\\x{D800}\\x{FFFFFF}'],
])('an original recipient %s is %s in a header', async (orcpt, original) => {
  const dsn = { ret: undefined, envid: undefined, recipients: [{ orcpt }] }
  await deliver(open(), { dsn })
  const text = Buffer.from(await readOnly('one@example.net'), 'latin1').toString()
  expect(text.split('\r\n')[1]).toBe(`X-Original-To: ${original}`)
})

test('nothing is left in tmp', async () => {
  await deliver(open())
  expect(await readdir(join(directory, 'one@example.net', 'tmp'))).toEqual([])
})

test('mail is read by its owner alone', async () => {
  await deliver(open())
  const mode = async (...path: string[]): Promise<number> =>
    (await stat(join(directory, 'one@example.net', ...path))).mode & 0o777
  const [name = ''] = await newIn('one@example.net')
  for (const folder of ['tmp', 'new', 'cur']) expect(await mode(folder)).toBe(0o700)
  expect(await mode('new', name)).toBe(0o600)
})

test('a message that the system takes in pieces is whole', async () => {
  type Write = (this: FileHandle, bytes: Buffer, from: number, length: number) => Promise<never>
  const handle = await openFile(directory, 'r')
  const calls = Object.getPrototypeOf(handle) as { write: Write }
  await handle.close()
  const original = Reflect.get(calls, 'write') as Write
  const spy = vi.spyOn(calls, 'write').mockImplementation(function (this: FileHandle, bytes, from, length) {
    return original.call(this, bytes, from, Math.ceil(length / 2))
  })
  onTestFinished(() => spy.mockRestore())
  await deliver(open())
  expect((await readOnly('one@example.net')).endsWith(someData.toString('latin1'))).toBe(true)
})

/** What is synced within the directory from now on, by path, and what was in `new` then. */
async function syncsFrom(mailbox: string): Promise<string[]> {
  const syncs: string[] = []
  const handle = await openFile(directory, 'r')
  const calls = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  for (const call of ['datasync', 'sync'] as const) {
    const original = calls[call]
    const spy = vi.spyOn(calls, call).mockImplementation(async function (this: FileHandle) {
      const path = relative(await realpath(directory), await readlink(`/proc/self/fd/${this.fd}`))
      const newCount = (await newIn(mailbox).catch(() => [])).length
      if (!path.startsWith('..'))
        syncs.push(`${call} ${path.replace(/tmp\/.*/, 'tmp/FILE')}, ${newCount} new`)
      return original.call(this)
    })
    onTestFinished(() => spy.mockRestore())
  }
  return syncs
}

test('a message is on the disk before it is in new, and its name before it counts as delivered', async () => {
  const mailbox = 'one@example.net'
  const syncs = await syncsFrom(mailbox)
  await deliver(open())
  expect(syncs.splice(0)).toEqual([
    `sync ${mailbox}, 0 new`,
    'sync , 0 new',
    `datasync ${mailbox}/tmp/FILE, 0 new`,
    `sync ${mailbox}/new, 1 new`,
  ])
  // The process that put it there may have died before its name was durable.
  await deliver(open(), { attempts: 1 })
  expect(syncs.at(-1)).toBe(`sync ${mailbox}/new, 1 new`)
})

test('a place where no directory can be made is the end of the attempt, not a wait for ever', async () => {
  const transport = maildirTransport({ directory: '/proc/waybill/mail' })
  await expect(deliver(transport)).resolves.toMatchObject([
    { kind: 'deferred', reason: expect.stringMatching(/ENOENT/) },
  ])
})

test('each recipient has a mailbox of its own', async () => {
  const recipients = Array.from({ length: 30 }, (_, i) => `user${i}@example.net`)
  const result = await deliver(open(), { recipients })
  expect(Array.isArray(result) && result.every(({ kind }) => kind === 'delivered')).toBe(true)
  for (const recipient of recipients) expect(await newIn(recipient)).toHaveLength(1)
})

test('two spellings of one address get one copy', async () => {
  await deliver(open(), { recipients: ['Bob@Example.net', 'bob@example.net'] })
  expect(await readdir(directory)).toEqual(['bob@example.net'])
  expect(await newIn('bob@example.net')).toHaveLength(1)
})

test('with extensions mail is for the mailbox of its own, where there is one, or for the one without', async () => {
  await mkdir(join(directory, 'ada+lists@example.net'))
  const recipients = ['Ada+Lists@example.net', 'ada+a@example.net', 'ada+b@example.net', 'eve@example.net']
  const transport = maildirTransport({ directory, hostname: 'mx.example.net', recipientDelimiter: '+' })
  await expect(deliver(transport, { recipients })).resolves.toMatchObject(
    Array(4).fill({ kind: 'delivered' }),
  )
  expect((await readdir(directory)).sort()).toEqual([
    'ada+lists@example.net',
    'ada@example.net',
    'eve@example.net',
  ])
  expect(await readOnly('ada@example.net')).toContain(
    '>\r\nDelivered-To: ada+a@example.net\r\nDelivered-To: ada+b@example.net\r\nSubject:',
  )
  expect(await readOnly('ada+lists@example.net')).toContain(
    '>\r\nDelivered-To: Ada+Lists@example.net\r\nSubject:',
  )
})

test.each(['at once', 'one after the other'])(
  'recipients of one mailbox in deliveries of their own, %s, are named by its one copy',
  async (way) => {
    const transport = maildirTransport({ directory, hostname: 'mx.example.net', recipientDelimiter: '+' })
    const recipients = ['ada+a@example.net', 'ada+b@example.net', 'ada@example.net']
    const outcomes: DeliveryResult[] = []
    const deliverOne = async (one: string): Promise<void> =>
      void outcomes.push(await deliver(transport, { recipients: [one] }))
    if (way === 'at once') await Promise.all(recipients.map(deliverOne))
    else for (const one of recipients) await deliverOne(one)
    expect(outcomes).toMatchObject(Array(3).fill([{ kind: 'delivered' }]))
    expect((await readOnly('ada@example.net')).match(/^Delivered-To: .*(?=\r)/gm)?.sort()).toEqual([
      'Delivered-To: ada+a@example.net',
      'Delivered-To: ada+b@example.net',
      'Delivered-To: ada@example.net',
    ])
  },
)

test('without extensions each address has a mailbox of its own', async () => {
  await deliver(open(), { recipients: ['ada+a@example.net'] })
  expect(await readdir(directory)).toEqual(['ada+a@example.net'])
})

test.each(['', 'yes', '++', '%', 7])('%j is no recipientDelimiter', (recipientDelimiter) => {
  expect(() => maildirTransport({ directory, recipientDelimiter } as MaildirOptions)).toThrow(
    /expected some of .*, each once \(option recipientDelimiter\)/,
  )
})

test('the same message again, by another process, stays one file', async () => {
  await deliver(open())
  await deliver(open(), { attempts: 1 })
  await deliver(open())
  expect(await newIn('one@example.net')).toHaveLength(1)
})

test.each([
  ['of this life', { attempts: 1, acceptedAt: Date.now() + 3_600_000 }],
  ['of the life before', { attempts: 0 }],
])('a repeated attempt %s finds the message that a reader has taken', async (_name, more) => {
  await deliver(open(), more)
  const [name = ''] = await newIn('one@example.net')
  const mailbox = join(directory, 'one@example.net')
  await rename(join(mailbox, 'new', name), join(mailbox, 'cur', `${name}:2,S`))
  await expect(deliver(open(), more)).resolves.toMatchObject([{ kind: 'delivered' }])
  expect(await newIn('one@example.net')).toEqual([])
})

test('a clock that was set back a little hides no message of the life before', async () => {
  const acceptedAt = Date.now()
  const clock = { ...systemClock, wallMs: () => acceptedAt - 4000 }
  await deliver(open(), { acceptedAt })
  const [name = ''] = await newIn('one@example.net')
  const mailbox = join(directory, 'one@example.net')
  await rename(join(mailbox, 'new', name), join(mailbox, 'cur', name))
  await deliver(maildirTransport({ directory, hostname: 'mx.example.net', clock }), { acceptedAt })
  expect(await newIn('one@example.net')).toEqual([])
})

test('what a repeated attempt finds in `new` it writes again: that its name is durable nobody knows', async () => {
  await deliver(open())
  const [name = ''] = await newIn('one@example.net')
  const path = join(directory, 'one@example.net', 'new', name)
  const before = await stat(path)
  const content = await readFile(path)
  await link(path, join(directory, 'kept'))
  await expect(deliver(open(), { attempts: 1 })).resolves.toMatchObject([{ kind: 'delivered' }])
  expect((await stat(path)).ino).not.toBe(before.ino)
  expect(await readFile(path)).toEqual(content)
})

test('another message is another file', async () => {
  await deliver(open(), { id: 'q1' })
  await deliver(open(), { id: 'q2' })
  expect(await newIn('one@example.net')).toHaveLength(2)
})

test('a half-written file of an earlier life is written over', async () => {
  await deliver(open())
  const [name = ''] = await newIn('one@example.net')
  const mailbox = join(directory, 'one@example.net')
  await rm(join(mailbox, 'new', name))
  await writeFile(join(mailbox, 'tmp', name), 'x'.repeat(10_000))
  await deliver(open(), { attempts: 1 })
  expect(await readOnly('one@example.net')).toContain(someData.toString('latin1'))
  expect(await readdir(join(mailbox, 'tmp'))).toEqual([])
})

test('a mailbox that was removed meanwhile is made again by the next attempt', async () => {
  const transport = open()
  await deliver(transport)
  await rm(join(directory, 'one@example.net'), { recursive: true })
  await expect(deliver(transport)).resolves.toMatchObject([{ kind: 'deferred' }])
  await expect(deliver(transport)).resolves.toMatchObject([{ kind: 'delivered' }])
})

test('a mailbox that cannot be made defers its recipient only', async () => {
  await writeFile(join(directory, 'file@example.net'), '')
  const result = await deliver(open(), { recipients: ['file@example.net', 'ok@example.net'] })
  expect(result).toMatchObject([{ kind: 'deferred', status: '4.3.0' }, { kind: 'delivered' }])
})

test('long data comes as a stream', async () => {
  const data = Buffer.from('a line\r\n'.repeat(200_000))
  await deliver(open(), {}, data)
  expect((await readOnly('one@example.net')).endsWith(data.toString('latin1'))).toBe(true)
})

test('data that breaks off leaves nothing and is not taken for a full disk', async () => {
  const stream = (): Readable =>
    Readable.from(
      (async function* () {
        yield someData
        throw new Error('checksum')
      })(),
    )
  const request = requestOf(someData, { dataBytes: 5_000_000, stream })
  await expect(open().deliver(request, new AbortController().signal)).rejects.toThrow('checksum')
  expect(await newIn('one@example.net')).toEqual([])
  expect(await readdir(join(directory, 'one@example.net', 'tmp'))).toEqual([])
})

test('a reference cannot be written, and is tried again', async () => {
  const data = (): Promise<{ ref: string }> => Promise.resolve({ ref: 's3://bucket/1' })
  expect(await deliver(open(), { data })).toMatchObject({ kind: 'deferred', status: '4.3.5' })
  expect(await readdir(directory)).toEqual([])
})

test('an attempt that was given up and is still writing keeps the next one from its file', async () => {
  const stream = new Readable({ read: () => undefined })
  stream.push(someData)
  const transport = open()
  const dataBytes = 5_000_000
  const first = deliver(transport, { dataBytes, stream: () => stream })
  const temporary = join(directory, 'one@example.net', 'tmp')
  await expect.poll(() => readdir(temporary).catch(() => [])).toHaveLength(1)
  expect(await deliver(transport, { attempts: 1 })).toEqual([
    { kind: 'deferred', status: '4.3.0', reason: 'an earlier attempt is still writing' },
  ])
  stream.push(null)
  expect(await first).toMatchObject([{ kind: 'delivered' }])
  expect(await deliver(transport, { attempts: 1 })).toMatchObject([{ kind: 'delivered' }])
  expect(await readOnly('one@example.net')).toContain(someData.toString('latin1'))
})

test('a full disk is a disk that is full, and nothing is left on it', async () => {
  await deliver(open())
  const [name = ''] = await newIn('one@example.net')
  const mailbox = join(directory, 'one@example.net')
  await rm(join(mailbox, 'new', name))
  await symlink('/dev/full', join(mailbox, 'tmp', name))
  expect(await deliver(open())).toMatchObject([{ kind: 'deferred', status: '4.3.1' }])
  expect(await readdir(join(mailbox, 'tmp'))).toEqual([])
  expect(await newIn('one@example.net')).toEqual([])
})

test('a maildir that is there already is used', async () => {
  for (const name of ['tmp', 'new', 'cur']) {
    await mkdir(join(directory, 'one@example.net', name), { recursive: true })
  }
  await expect(deliver(open())).resolves.toMatchObject([{ kind: 'delivered' }])
})

test.each([
  ['../../etc/passwd@x', '%2e.%2f..%2fetc%2fpasswd@x'],
  ['.hidden@x', '%2ehidden@x'],
  ['a/b@x', 'a%2fb@x'],
  ['A.B+tag@X.Org', 'a.b+tag@x.org'],
  ['"ada"@x', 'ada@x'],
  ['"a b"@x', '%22a%20b%22@x'],
  ['50%25@x', '50%2525@x'],
  ['Ada@Example.net.', 'ada@example.net'],
  ['~root@x', '%7eroot@x'],
])('the mailbox of %s is %s', (recipient, name) => {
  expect(mailboxName(recipient)).toBe(name)
})

test('one letter written in two ways is one mailbox', () => {
  expect(mailboxName('gru\u0308n@x')).toBe(mailboxName('gr\u00fcn@x'))
})

test('long addresses have short names, different for different addresses', () => {
  const names = ['a', 'b'].map((last) => mailboxName(`${'ü'.repeat(100)}${last}@example.net`))
  expect(new Set(names).size).toBe(2)
  for (const name of names) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255)
})

test.each([{}, { directory: '' }, { directory: 'x', host: 'y' }])(
  'mailboxes nowhere are refused: %o',
  (options) => {
    expect(() => maildirTransport(options as MaildirOptions)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  },
)
