/** A relay takes up what programs have left, each message once, whatever ends it in between. */
import { mkdir, mkdtemp, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { WaybillError, type ErrorCode } from '../../../src/errors.js'
import type { MessageId } from '../../../src/base/message-id.js'
import { dropMail, makeMaildrop } from '../../../src/relay/maildrop/maildrop-file.js'
import { Pickup, type PickupOptions } from '../../../src/relay/maildrop/pickup.js'
import type { SubmitPort } from '../../../src/relay/smtp-in/smtp-handlers.js'
import { aliasesIn } from '../../../src/relay/tables/aliases.js'

let queue: string
let submitted: Parameters<SubmitPort['submit']>[0][]
let refused: string[]
let troubles: unknown[]
beforeEach(async () => {
  queue = await mkdtemp(join(tmpdir(), 'waybill-pickup-'))
  await makeMaildrop(queue)
  submitted = []
  refused = []
  troubles = []
})
afterEach(() => rm(queue, { recursive: true, force: true }))

const drop = (recipient = 'b@example.net'): Promise<MessageId> =>
  dropMail(queue, { sender: 'a@example.org', recipients: [recipient], dsn: {}, data: Buffer.from('x\n') })
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
  expect([submitted.length, refused.length, troubles.length]).toEqual([1, 1, 0])
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
  await pickup({ aliases: () => aliases }).look()
  expect(submitted[0]!.recipients).toMatchObject([{ address: 'ada@example.net' }])
})

test('a queue without a maildrop has nothing to take up', async () => {
  await rm(join(queue, 'maildrop'), { recursive: true })
  await pickup().look()
  expect([submitted, troubles]).toEqual([[], []])
})
