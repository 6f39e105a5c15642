/** What senders asked to be told of (DSN), as the reading commands show it. */
import { expect, test } from 'vitest'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { openQueue, type Submission } from '../../src/index.js'
import { cat } from '../../tools/commands/look/cat.js'
import type { InspectCommand } from '../../tools/commands/look/inspection.js'
import { mailq } from '../../tools/commands/look/mailq.js'
import { command } from '../inspect/commanded.js'
import { temporaryDirectory } from '../temporary-directory.js'

/** What commands say of a message of which the second recipient still waits, the
 * first is delivered. */
async function shown(
  asked: Pick<Submission, 'recipients' | 'dsn'>,
): Promise<(inspect: InspectCommand, ...args: string[]) => Promise<string>> {
  const directory = await temporaryDirectory('asked')
  const queue = await openQueue(directory, {
    transports: {
      out: {
        deliver: ({ recipients }) =>
          recipients.includes('first@example.net')
            ? { kind: 'delivered' }
            : new Promise<never>(() => undefined),
      },
    },
    route: (recipient) => ({ transport: 'out', nexthop: recipient }),
    segmentBytes: 2 ** 20,
  })
  const isDelivered = new Promise((resolve) => queue.once('delivered', resolve))
  const { id } = await queue.submit({ sender: 'ada@example.org', data: 'Subject: x\r\n\r\nx\r\n', ...asked })
  await isDelivered
  await queue.submit({ sender: '', recipients: ['last@example.net'], data: 'Subject: y\r\n\r\ny\r\n' })
  queue.crash()
  return async (inspect, ...args) => {
    const words = ['--queue', directory, ...args, ...(inspect === cat ? ['-e', id] : [])]
    const { exitCode, stdout, stderr } = await command(inspect, words, nodeDisk, Date.now())
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    return stdout
  }
}

const first = 'first@example.net'
const second = {
  address: 'second@example.net',
  notify: ['success', 'delay'],
  orcpt: 'rfc822;two@example.net',
} as const
const dsn = { id: 'ID 1', return: 'headers' } as const

test('cat shows what was asked for a message and for each recipient, in the words of SMTP', async () => {
  const say = await shown({ recipients: [{ address: first, notify: 'never' }, second], dsn })
  const text = await say(cat)
  expect(text).toContain('\nasked:    RET=HDRS ENVID=ID+201\n')
  expect(text).toContain('\nrecipient: first@example.net: delivered, asked NOTIFY=NEVER\n')
  expect(text).toContain(
    '\nrecipient: second@example.net: pending, asked NOTIFY=SUCCESS,DELAY ORCPT=rfc822;two@example.net\n',
  )
  expect(JSON.parse(await say(cat, '--json'))).toMatchObject({
    recipients: [
      { address: first, notify: 'never' },
      { ...second, state: 'pending' },
    ],
    ret: 'headers',
    envid: 'ID 1',
  })
})

test('mailq --json shows it of those that still wait', async () => {
  const say = await shown({ recipients: [{ address: first, notify: 'never' }, second], dsn })
  const [asked, other] = (await say(mailq, '--json'))
    .split('\n')
    .map((line): unknown => JSON.parse(line || '{}'))
  expect(asked).toMatchObject({ recipients: [second], ret: 'headers', envid: 'ID 1' })
  expect(Object.keys(other as object)).not.toContain('ret')
})

test('what was asked for one of more than a thousand recipients is shown beside it', async () => {
  const many = Array.from({ length: 1500 }, (_, i) => ({ address: `r${i}@example.net` }))
  const recipients = [{ address: first }, ...many, second]
  const say = await shown({ recipients })
  const { recipients: told } = JSON.parse((await say(mailq, '--json')).split('\n')[0]!) as {
    recipients: unknown[]
  }
  expect(told).toHaveLength(1501)
  expect(told[3]).toEqual({ address: 'r3@example.net' })
  expect(told[1500]).toEqual(second)
  expect(await say(cat)).toMatch(/^recipient: second@\S+ pending, asked NOTIFY=SUCCESS,DELAY ORCPT=\S+$/m)
})

test('nothing is shown where nothing was asked', async () => {
  const say = await shown({ recipients: [first, second.address] })
  expect(await say(cat)).not.toContain('asked')
  for (const text of [await say(cat, '--json'), await say(mailq, '--json')])
    expect(text).not.toMatch(/ret|envid|notify|orcpt/)
})
