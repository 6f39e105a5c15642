/** `waybill mailq` beside a running relay, for other users, and of a port. */
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { openQueue, serveControl, type Queue } from '../../../src/index.js'
import { answerForMailq, listenMailq } from '../../../src/mailq/mailq-port.js'
import { listening } from '../../../src/relay/listening.js'
import { listForOthers } from '../../../tools/commands/look/mailq-others.js'
import { mailq } from '../../../tools/commands/look/mailq.js'
import { command, type Commanded } from '../../inspect/commanded.js'
import { temporaryDirectory } from '../../temporary-directory.js'

const hour = 3_600_000

/** For one test. */
async function newDirectory(): Promise<string> {
  const directory = await temporaryDirectory('mailq')
  return directory
}

/** A relay whose checkpoints come too late for anybody, whose site `slow` never answers. */
async function relay(): Promise<{ readonly queue: Queue; readonly directory: string }> {
  const directory = await newDirectory()
  const queue = await openQueue(directory, {
    transports: {
      out: {
        deliver: ({ nexthop }) =>
          nexthop === 'slow.example'
            ? new Promise<never>(() => undefined)
            : { kind: 'deferred', status: '4.2.0', reason: 'come again' },
      },
    },
    route: (recipient) => ({ transport: 'out', nexthop: recipient.slice(recipient.indexOf('@') + 1) }),
    segmentBytes: 2 ** 20,
    checkpointIntervalMs: hour,
  })
  const control = await serveControl(queue, directory)
  onTestFinished(() => {
    control.close()
    queue.crash()
  })
  return { queue, directory }
}

const submit = (queue: Queue, ...recipients: string[]): ReturnType<Queue['submit']> =>
  queue.submit({ sender: 'ada@example.org', recipients, data: 'Subject: x\r\n\r\nx\r\n' })

const say = (...args: string[]): Promise<Commanded> => command(mailq, args, nodeDisk, Date.now())

const deferred = (queue: Queue): Promise<unknown> => new Promise((resolve) => queue.once('deferred', resolve))

test('what happened a moment ago is listed, with transport and nexthop', async () => {
  const { queue, directory } = await relay()
  const isDeferred = deferred(queue)
  const { id } = await submit(queue, 'a@late.example', 'b@slow.example')
  await isDeferred
  const { stdout, exitCode } = await say('--queue', directory)
  expect(exitCode).toBe(0)
  expect(stdout).toContain(`\n${id}* `)
  expect(stdout).toContain('(4.2.0 come again)\n')
  expect(stdout).toContain(' a@late.example via out:late.example\n')
  expect(stdout).toContain(' b@slow.example via out:slow.example\n')
  const json = JSON.parse((await say('--queue', directory, '--json')).stdout) as unknown
  expect(json).toMatchObject({
    queue_name: 'active',
    recipients: [
      {
        address: 'a@late.example',
        delay_reason: '4.2.0 come again',
        transport: 'out',
        nexthop: 'late.example',
      },
      { address: 'b@slow.example', transport: 'out', nexthop: 'slow.example' },
    ],
  })
})

test('the route of an operator goes before', async () => {
  const { queue, directory } = await relay()
  const { id } = await submit(queue, 'a@late.example')
  await queue.reroute({ id }, { nexthop: 'slow.example' })
  expect((await say('--queue', directory)).stdout).toContain(' a@late.example via out:slow.example\n')
})

test('without a relay there are no routes', async () => {
  const { queue, directory } = await relay()
  await submit(queue, 'a@slow.example')
  queue.crash()
  expect((await say('--queue', directory)).stdout).toContain(' a@slow.example\n')
})

test('other users are shown by the relay what the owner reads', async () => {
  const { queue, directory } = await relay()
  onTestFinished(await answerForMailq(queue, directory))
  const isDeferred = deferred(queue)
  await submit(queue, 'a@late.example', 'b@slow.example')
  await isDeferred
  await submit(queue, 'c@slow.example')
  const asked = async (json: boolean, limit = Infinity, selection = {}): Promise<string> => {
    let text = ''
    const surroundings = {
      write: async (piece: string | Buffer) => void (text += piece),
      complain: (piece: string) => void (text += piece),
      nowMs: Date.now,
      isTerminal: false,
      complainsToTerminal: false,
      openDisk: nodeDisk,
      stopped: AbortSignal.abort(),
    }
    expect(await listForOthers(directory, { selection, limit, json }, surroundings)).toBe(0)
    return text
  }
  expect(await asked(false)).toBe((await say('--queue', directory)).stdout)
  expect(await asked(true)).toBe((await say('--queue', directory, '--json')).stdout)
  expect((await asked(true, 1)).trim().split('\n')).toHaveLength(1)
  expect(await asked(true, Infinity, { recipient: 'c@slow.example' })).toMatch(/c@slow/)
  expect(await asked(true, Infinity, { domain: 'late.example' })).not.toMatch(/c@slow/)
})

test('other users without a relay are told so', async () => {
  const { directory } = await relay()
  let told = ''
  const surroundings = {
    write: async () => undefined,
    complain: (piece: string) => void (told += piece),
    nowMs: Date.now,
    isTerminal: false,
    complainsToTerminal: false,
    openDisk: nodeDisk,
    stopped: AbortSignal.abort(),
  }
  expect(await listForOthers(directory, { selection: {}, limit: 1, json: false }, surroundings)).toBe(1)
  expect(told).toContain('this user may not read the queue, and no relay shows it')
})

test('--from lists what a MAILQ port says', async () => {
  const { queue } = await relay()
  const listener = await listenMailq(queue, { host: '127.0.0.1', port: 0 })
  onTestFinished(() => listener.close())
  const isDeferred = deferred(queue)
  const { id } = await submit(queue, 'a@late.example', 'b@slow.example', 'c@slow.example')
  await isDeferred
  const { stdout, exitCode } = await say('--from', `127.0.0.1:${listener.port}`, '--json')
  expect(exitCode).toBe(0)
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    {
      queue_id: id,
      transport: 'out',
      nexthop: 'late.example',
      recipients: [0],
      delay_reason: '4.2.0 come again',
    },
    { queue_id: id, transport: 'out', nexthop: 'slow.example', recipients: [1, 2] },
  ])
  const text = (await say('--from', `127.0.0.1:${listener.port}`)).stdout
  expect(text).toContain(`${id}  out:slow.example                       1,2\n`)
  expect(text).toContain('\n-- 1 message, 3 recipients.\n')
})

test('--from of another port is refused with its reason', async () => {
  const server = createServer((socket) => socket.end('220 mail.example.net ESMTP\r\n'))
  const { port } = await listening(server, '127.0.0.1', 0)
  onTestFinished(() => void server.close())
  const { stdout, stderr, exitCode } = await say('--from', `127.0.0.1:${port}`)
  expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 1 })
  expect(stderr).toContain('there is no MAILQ port')
})

test('mail of all kinds is listed in one order, whether it is read in pieces or one by one', async () => {
  const directory = await newDirectory()
  const queue = await openQueue(directory, {
    transports: {
      out: {
        deliver: ({ recipients }) =>
          recipients.map((recipient) => ({
            kind: 'deferred',
            status: '4.2.0',
            reason: `of ${recipient[0]}`,
          })),
      },
    },
    route: () => ({ transport: 'out', nexthop: 'example.net' }),
  })
  let waitingCount = 0
  queue.on('deferred', ({ recipients }) => (waitingCount += recipients.length))
  const many = Array.from({ length: 1200 }, (_, i) => `m${i}@example.net`)
  const kindsOfMail = [['a@example.net'], ['ä@example.net'], ['b@example.net', 'c@example.net'], ['d@e.test']]
  let count = 0
  const submitOn = async (): Promise<void> => {
    while (count < 3000) {
      const i = count++
      const recipients = i === 1500 ? many : i % 40 < 4 ? kindsOfMail[i % 4]! : [`a${i}@example.net`]
      await queue.submit({ sender: 'ada@example.org', recipients, data: 'x\r\n'.repeat(i), smtputf8: true })
    }
  }
  await Promise.all(Array.from({ length: 100 }, submitOn))
  await queue.idle()
  queue.crash()
  const { stdout, stderr } = await say('--queue', directory)
  expect([waitingCount, stderr]).toEqual([2999 + 75 + 1200, ''])
  expect(stdout.match(/^[0-9A-Z]{16} /gm)).toHaveLength(3000)
  const oneByOne = await say('--queue', directory, '--limit', '1000000')
  expect(stdout).toBe(oneByOne.stdout)
  const ofOne = ['--queue', directory, '--domain', 'e.test']
  expect((await say(...ofOne)).stdout).toBe((await say(...ofOne, '--limit', '1000000')).stdout)
})
