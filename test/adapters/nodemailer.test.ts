/** A queue behind nodemailer's own mailer. */
import { readdir, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { createTransport, type Transporter } from 'nodemailer'
import { expect, onTestFinished, test } from 'vitest'
import {
  queueTransport,
  sendingCountMax,
  type QueuedMessageInfo,
  type SubmittedQueue,
} from '../../src/adapters/nodemailer.js'
import type { Accepted, DeliveryRequest, Outcome, RequestDsn } from '../../src/index.js'
import { WaybillError } from '../../src/errors.js'
import { openStage } from './stage.js'
import { temporaryDirectory } from '../temporary-directory.js'

const hello = {
  from: 'Ada <ada@example.org>',
  to: ['grace@example.net', 'Mary <mary@example.net>'],
  bcc: 'eve@example.com',
  subject: 'hello',
  text: 'Hello.',
}

const mailer = (queue: SubmittedQueue): Transporter<QueuedMessageInfo> =>
  createTransport(queueTransport(queue))

test('a message that is sent is in the queue, and delivered to all without its Bcc', async () => {
  const { queue, taken } = await openStage()
  const accepted: string[] = []
  queue.on('accepted', ({ id }) => accepted.push(id))
  const info = await mailer(queue).sendMail(hello)
  expect(accepted).toEqual([info.queueId])
  expect(info).toMatchObject({
    envelope: { from: 'ada@example.org', to: ['grace@example.net', 'mary@example.net', 'eve@example.com'] },
    messageId: expect.stringMatching(/^<.+@example\.org>$/) as string,
    accepted: ['grace@example.net', 'mary@example.net', 'eve@example.com'],
    rejected: [],
    response: `250 2.0.0 queued as ${info.queueId}`,
  })
  await expect
    .poll(() => taken.flatMap(({ recipients }) => recipients).sort())
    .toEqual([...info.accepted].sort())
  const { id, sender, data } = taken[0]!
  expect({ id, sender }).toEqual({ id: info.queueId, sender: 'ada@example.org' })
  expect(data).toMatch(/^From: Ada <ada@example\.org>\r\n[^]*Subject: hello\r\n[^]*\r\n\r\nHello\.\r\n$/)
  expect(data).not.toMatch(/eve/)
  expect(data).toContain(`Message-ID: ${info.messageId}`)
})

test('options of a submission go along, and the same key makes no second message', async () => {
  const { queue } = await openStage()
  const later = { tags: ['newsletter'], notBefore: Date.now() + 3_600_000, idempotencyKey: 'order 17' }
  const mail = { ...hello, queue: { ...later, priority: 'low' as const } }
  const first = await mailer(queue).sendMail(mail)
  expect(first.isDuplicate).toBeUndefined()
  const second = await mailer(queue).sendMail(mail)
  expect(second).toMatchObject({ queueId: first.queueId, isDuplicate: true })
  expect(await queue.delete({ tag: 'newsletter' })).toMatchObject({ messageCount: 1 })
})

test('a duplicate has the Message-ID that its caller gave, and never one that no message has', async () => {
  const { queue } = await openStage()
  const mail = { ...hello, queue: { idempotencyKey: 'order 18' } }
  expect((await mailer(queue).sendMail(mail)).messageId).not.toBe('')
  expect(await mailer(queue).sendMail(mail)).toMatchObject({ messageId: '', isDuplicate: true })
  const odd = { ...mail, headers: [{}] } as unknown as typeof mail
  expect(await mailer(queue).sendMail(odd)).toMatchObject({ messageId: '', isDuplicate: true })
  const named = { ...hello, messageId: '<order-19@example.org>', queue: { idempotencyKey: 'order 19' } }
  const inHeaders = { ...hello, headers: { 'message-id': named.messageId }, queue: named.queue }
  for (const each of [named, named, inHeaders])
    expect(await mailer(queue).sendMail(each)).toMatchObject({ messageId: '<order-19@example.org>' })
})

test('an option that there is not is refused', async () => {
  const { queue } = await openStage()
  const mail = { ...hello, queue: { sendAt: 1 } as object }
  await expect(mailer(queue).sendMail(mail)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
})

test.each<[string, object, RequestDsn]>([
  [
    'its usual names',
    { id: 'ID 1', return: 'headers', notify: ['failure', 'delay'], recipient: 'list@example.org' },
    {
      ret: 'headers',
      envid: 'ID 1',
      recipients: [{ notify: ['failure', 'delay'], orcpt: 'rfc822;list@example.org' }],
    },
  ],
  [
    'the names of SMTP',
    { envid: 'ID', ret: 'FULL', notify: 'SUCCESS, failure', orcpt: 'x400;/C=US/' },
    {
      ret: 'full',
      envid: 'ID',
      recipients: [{ notify: ['success', 'failure'], orcpt: 'x400;/C=US/' }],
    },
  ],
  [
    'nothing at all wanted',
    { notify: 'never' },
    { ret: undefined, envid: undefined, recipients: [{ notify: 'never', orcpt: undefined }] },
  ],
  ['the whole message', { return: 'Body' }, { ret: 'full', envid: undefined, recipients: [{}] }],
  ['the header', { ret: 'hdrs' }, { ret: 'headers', envid: undefined, recipients: [{}] }],
  ['a number and an empty list', { id: 5, notify: [] }, { ret: undefined, envid: '5', recipients: [{}] }],
])('the dsn of a message goes to the queue: %s', async (_, dsn, expected) => {
  const asked: (RequestDsn | undefined)[] = []
  const deliver = (request: DeliveryRequest): Outcome => (asked.push(request.dsn), { kind: 'delivered' })
  const { queue } = await openStage({ transports: { take: { deliver } } })
  await mailer(queue).sendMail({ ...hello, to: 'grace@example.net', bcc: [], dsn })
  await queue.idle()
  expect(asked[0]).toEqual(expected)
})

test.each([
  { return: 'something' },
  { return: ['full'] },
  { notify: ['never', 'failure'] },
  { notify: 5 },
  { notify: [null] },
  { id: 'a\nb' },
  { id: {} },
  { recipient: 5 },
])('an invalid dsn is refused: %j', async (dsn) => {
  const { queue, taken } = await openStage()
  const mail = { ...hello, dsn: dsn as object }
  await expect(mailer(queue).sendMail(mail)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  await queue.idle()
  expect(taken).toEqual([])
})

test('sendMail waits until the queue has settled', async () => {
  let settle: (accepted: Accepted) => void = () => {}
  const transporter = mailer({ isCrashed: false, submit: () => new Promise((resolve) => (settle = resolve)) })
  const sent = transporter.sendMail(hello)
  expect(await Promise.race([sent, new Promise((resolve) => setTimeout(resolve, 50, 'waits'))])).toBe('waits')
  settle({ id: 'q1' as Accepted['id'] })
  expect(await sent).toMatchObject({ queueId: 'q1' })
})

test('a message that is sent survives the crash that follows at once', async () => {
  const stage = await openStage()
  stage.answer = () => ({ kind: 'deferred', status: '4.2.1', reason: 'later' })
  const { queueId } = await mailer(stage.queue).sendMail(hello)
  const next = await stage.reopen()
  const ids: string[] = []
  for await (const { id } of next.list()) ids.push(id)
  expect(ids).toEqual([queueId])
})

test('a large message goes through as a stream, byte for byte, held back by the queue', async () => {
  const { queue, taken } = await openStage({ inlineBytesMax: 64 * 1024 })
  const lines = Array.from({ length: 50_000 }, (_, i) => `line ${i} of a large message, with a dot\r\n`)
  const raw = Readable.from(['Subject: large\r\n\r\n', ...lines])
  const { accepted } = await mailer(queue).sendMail({
    envelope: { from: '', to: 'grace@example.net' },
    raw,
  })
  expect(accepted).toEqual(['grace@example.net'])
  await expect.poll(() => taken.length).toBe(1)
  expect(taken[0]?.sender).toBe('')
  expect(taken[0]?.data === `Subject: large\r\n\r\n${lines.join('')}`).toBe(true)
})

test('data is not asked for faster than the queue takes it', async () => {
  let given = 0
  const endless = new Readable({
    read() {
      given += 16_384
      this.push(Buffer.from(`${'x'.repeat(62)}\r\n`.repeat(256)))
    },
  })
  onTestFinished(() => void endless.destroy())
  const transporter = mailer({ isCrashed: false, submit: () => new Promise(() => {}) })
  void transporter.sendMail({ envelope: { from: '', to: 'grace@example.net' }, raw: endless })
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(given).toBeLessThan(1 << 20)
})

test.each([
  ['no recipient', { to: [] }, 'RECIPIENTS_EMPTY', 554],
  ['a recipient that is no address', { envelope: { from: '', to: ['nobody'] } }, 'ADDRESS_INVALID', 501],
  ['more than the queue takes', { text: 'too long\n'.repeat(20_000) }, 'MESSAGE_TOO_LARGE', 552],
  ['a NUL', { raw: 'Subject: x\r\n\r\na\0b\r\n' }, 'NUL_IN_DATA', 554],
  ['a file that is not there', { attachments: [{ path: '/nonexistent/file' }] }, 'DATA_INCOMPLETE', 451],
])('%s is refused with the code and the reply', async (_, wrong, code, responseCode) => {
  const { queue } = await openStage({ dataBytesMax: 100_000 })
  let acceptedCount = 0
  queue.on('accepted', () => acceptedCount++)
  const error: unknown = await mailer(queue)
    .sendMail({ ...hello, bcc: [], ...wrong })
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(WaybillError)
  expect(error).toMatchObject({
    code,
    responseCode,
    response: expect.stringMatching(new RegExp(`^${responseCode} \\d\\.\\d\\.\\d `)) as string,
  })
  expect(acceptedCount).toBe(0)
})

test('files that a refused message would have been read from are closed', async () => {
  const { queue } = await openStage()
  const directory = await temporaryDirectory('attachment')
  const path = join(directory, 'file')
  await writeFile(path, 'x'.repeat(1 << 20))
  await expect(
    mailer(queue).sendMail({ ...hello, envelope: { from: '', to: ['nobody'] }, attachments: [{ path }] }),
  ).rejects.toMatchObject({ code: 'ADDRESS_INVALID' })
  // What is opened is opened a moment later.
  await new Promise((resolve) => setTimeout(resolve, 100))
  const open = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  )
  expect(open).not.toContain(path)
})

test('a stream that breaks off leaves nothing in the queue', async () => {
  const { queue, taken } = await openStage()
  const raw = new PassThrough()
  raw.write('Subject: half\r\n\r\nhalf a mess')
  const sent = mailer(queue).sendMail({ envelope: { from: '', to: 'grace@example.net' }, raw })
  setTimeout(() => raw.destroy(new Error('the source broke')), 20)
  await expect(sent).rejects.toMatchObject({
    code: 'DATA_INCOMPLETE',
    cause: { message: 'the source broke' },
  })
  await mailer(queue).sendMail(hello)
  await expect.poll(() => taken.length).toBeGreaterThan(0)
  expect(taken.every(({ data }) => data.includes('Subject: hello'))).toBe(true)
})

test('a signal ends a message that is still being read', async () => {
  const { queue } = await openStage()
  const raw = new PassThrough()
  raw.write('Subject: endless\r\n\r\n')
  const controller = new AbortController()
  const sent = mailer(queue).sendMail({
    envelope: { from: '', to: 'grace@example.net' },
    raw,
    signal: controller.signal,
  })
  setTimeout(() => controller.abort(), 20)
  await expect(sent).rejects.toMatchObject({ code: 'SUBMIT_ABORTED', responseCode: 451 })
})

test('after a crash it is not idle, does not verify, and what is sent is refused for now', async () => {
  const { queue } = await openStage()
  const transporter = mailer(queue)
  const verified = (): Promise<unknown> =>
    new Promise((resolve) => transporter.verify((...told) => resolve(told)))
  expect([transporter.isIdle(), await transporter.verify(), await verified()]).toEqual([
    true,
    true,
    [null, true],
  ])
  queue.crash()
  expect(transporter.isIdle()).toBe(false)
  await expect(transporter.verify()).rejects.toMatchObject({ code: 'QUEUE_CRASHED', responseCode: 451 })
  expect(await verified()).toMatchObject([{ code: 'QUEUE_CRASHED' }])
  await expect(transporter.sendMail(hello)).rejects.toMatchObject({
    code: 'QUEUE_CRASHED',
    responseCode: 451,
  })
})

test('a crash while a message is on its way rejects what waits', async () => {
  const { queue } = await openStage()
  const sent = mailer(queue).sendMail({
    envelope: { from: '', to: 'grace@example.net' },
    raw: new PassThrough(),
  })
  await new Promise((resolve) => setTimeout(resolve, 20))
  queue.crash()
  await expect(sent).rejects.toMatchObject({ code: 'QUEUE_CRASHED' })
})

test('a program that holds messages back until `idle` sends all of them, a bounded number at once', async () => {
  const settle: (() => void)[] = []
  const transporter = mailer({
    isCrashed: false,
    submit: () => new Promise((resolve) => settle.push(() => resolve({ id: 'q' as Accepted['id'] }))),
  })
  const messageCount = sendingCountMax + 500
  let begunCount = 0
  let sentCount = 0
  transporter.on('idle', () => {
    while (transporter.isIdle() && begunCount < messageCount) {
      begunCount++
      void transporter
        .sendMail({ envelope: { from: '', to: 'a@example.net' }, raw: 'x' })
        .then(() => sentCount++)
    }
  })
  await expect.poll(() => settle.length).toBe(sendingCountMax)
  expect([begunCount, transporter.isIdle()]).toEqual([sendingCountMax, false])
  while (sentCount < messageCount) {
    for (const one of settle.splice(0)) one()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect([begunCount, transporter.isIdle()]).toEqual([messageCount, true])
})

test('closing the transport leaves the queue open', async () => {
  const { queue } = await openStage()
  const transporter = mailer(queue)
  transporter.close()
  expect(queue.isCrashed).toBe(false)
  expect(await queue.submit({ sender: '', recipients: ['a@example.net'], data: 'x' })).toHaveProperty('id')
})
