/** `waybill submit --jsonl`: through a relay that runs, and without one. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { openQueue, serveControl, type ListedMessage, type Queue } from '../../../src/index.js'
import { parseArguments } from '../../../tools/commands/cli/command.js'
import { submit } from '../../../tools/commands/submit/submit.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-submit-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const queuePath = (): string => join(directory, 'queue')

interface Ended {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** @param stops as Ctrl-C does, when it complains for the first time */
async function submitted(
  lines: readonly unknown[],
  more: readonly string[] = [],
  stops = false,
): Promise<Ended> {
  const stop = new AbortController()
  const file = join(directory, 'mail.jsonl')
  const bytesOf = (line: unknown): Buffer =>
    Buffer.isBuffer(line) ? line : Buffer.from(typeof line === 'string' ? line : JSON.stringify(line))
  await writeFile(file, Buffer.concat(lines.flatMap((line) => [bytesOf(line), Buffer.from('\n')])))
  let [stdout, stderr] = ['', '']
  const args = parseArguments(submit, ['--queue', queuePath(), '--jsonl', file, ...more])
  const exitCode = await submit.runIn(args, {
    write: async (text) => void (stdout += text),
    complain: (text) => {
      stderr += text
      if (stops) stop.abort()
    },
    nowMs: Date.now,
    isTerminal: false,
    complainsToTerminal: false,
    openDisk: nodeDisk,
    stopped: stop.signal,
  })
  return { exitCode, stdout, stderr }
}

const opened = (): Promise<Queue> =>
  openQueue(queuePath(), {
    deliver: false,
    transports: {},
    route: () => ({ transport: 'none', nexthop: 'none' }),
  })

async function listed(queue: Queue): Promise<ListedMessage[]> {
  const all: ListedMessage[] = []
  for await (const message of queue.list()) all.push(message)
  return all
}

const mail = (n: number): object => ({
  from: 'Ada <ada@example.org>',
  to: [`r${n}@example.net`],
  bcc: 'secret@example.net',
  subject: `Number ${n}`,
  text: 'Hello.',
  tags: ['campaign', `n${n % 2}`],
})

describe.each(['a relay that runs', 'the lock'])('through %s', (by) => {
  let relay: Queue | undefined
  beforeEach(async () => {
    const queue = await opened()
    if (by === 'the lock') queue.crash()
    else {
      relay = queue
      await serveControl(queue, queuePath())
    }
  })
  afterEach(() => {
    relay?.crash()
    relay = undefined
  })
  const inQueue = async (): Promise<ListedMessage[]> => {
    const queue = relay ?? (await opened())
    const all = await listed(queue)
    if (relay === undefined) queue.crash()
    return all
  }

  test('each line is a message with its options, and what is wrong is told with its line', async () => {
    const notBefore = Date.now() + 86_400_000
    const ended = await submitted([
      mail(1),
      { ...mail(2), notBefore: new Date(notBefore).toISOString(), priority: 'high' },
      'no JSON',
      '',
      { ...mail(3), surprise: 1 },
      { ...mail(4), attachments: [{ path: '/etc/passwd' }] },
      { envelope: { from: '', to: ['a@example.net', 'b@example.net'] }, raw: 'Subject: x\r\n\r\nx\r\n' },
      { from: 'ada@example.org', text: 'nobody' },
      { ...mail(5), expiresAt: 1_000_000_000_000 },
    ])
    expect(ended.stdout).toBe('3 messages submitted, 5 lines refused\n')
    expect(ended.exitCode).toBe(1)
    const told = ended.stderr.trim().split('\n').sort()
    expect(told.map((line) => /line \d: [A-Z_]+/.exec(line)?.[0])).toEqual([
      'line 3: OPTION_INVALID',
      'line 5: OPTION_INVALID',
      'line 6: OPTION_INVALID',
      'line 8: RECIPIENTS_EMPTY',
      'line 9: OPTION_INVALID',
    ])
    const found = await inQueue()
    expect(found.map(({ sender }) => sender).sort()).toEqual(['', 'ada@example.org', 'ada@example.org'])
    expect(found.filter(({ tags }) => tags?.includes('campaign') === true)).toHaveLength(2)
    expect(found.find((message) => message.notBefore !== undefined)).toMatchObject({
      notBefore,
      recipients: ['r2@example.net', 'secret@example.net'],
      tags: ['campaign', 'n0'],
    })
  })

  test('a line that is not UTF-8, or too long, is refused with its number, and a mark at the beginning is none of it', async () => {
    const ended = await submitted([
      `\ufeff${JSON.stringify(mail(1))}`,
      Buffer.from(JSON.stringify({ ...mail(2), subject: 'Grüße' }), 'latin1'),
      { ...mail(3), text: 'a line\u2028another' },
      Buffer.alloc(64 * 1024 * 1024 + 1, 'x'),
      `${JSON.stringify(mail(5))}\r`,
    ])
    expect(ended.stdout).toBe('3 messages submitted, 2 lines refused\n')
    expect(ended.stderr.split('\n').sort()).toEqual([
      '',
      'waybill submit: line 2: OPTION_INVALID: the line is not UTF-8',
      'waybill submit: line 4: MESSAGE_TOO_LARGE: a line has at most 64 MiB',
    ])
    const recipients = (await inQueue()).map((message) => message.recipients[0] ?? '')
    expect(recipients.sort()).toEqual(['r1@example.net', 'r3@example.net', 'r5@example.net'])
  })

  test('Ctrl-C ends it between lines, with a count of what is in the queue', async () => {
    const lines = ['no JSON', ...Array.from({ length: 2000 }, (_, n) => mail(n))]
    const ended = await submitted(lines, ['--json'], true)
    const { submitted: count, stopped } = JSON.parse(ended.stdout) as Record<string, unknown>
    const found = await inQueue()
    expect([ended.exitCode, stopped, count]).toEqual([1, true, found.length])
    expect(found.length).toBeLessThan(2000)
  })

  test('with a key the same file is submitted once, however often, and a line that was added is new', async () => {
    const lines = Array.from({ length: 300 }, (_, n) => mail(n))
    expect(await submitted(lines.slice(0, 200), ['--key', 'spring'])).toMatchObject({
      exitCode: 0,
      stdout: '200 messages submitted\n',
      stderr: '',
    })
    const again = await submitted(lines, ['--key', 'spring', '--json'])
    expect(JSON.parse(again.stdout)).toEqual({ submitted: 100, known: 200, refused: 0, stopped: false })
    expect(await inQueue()).toHaveLength(300)
  })
})

test('a queue that is not there, and a file that is not there, are told', async () => {
  expect(await submitted([mail(1)])).toMatchObject({ exitCode: 3 })
  const args = parseArguments(submit, ['--queue', queuePath(), '--key', 'x'])
  await expect(async () => submit.runIn(args, {} as never)).rejects.toThrow('--jsonl FILE is required')
})

test('a mailbox that is named again in other letters gets one copy', async () => {
  const queue = await opened()
  await serveControl(queue, queuePath())
  const to = ['Ada@example.net', 'ada@example.net']
  const raw = { raw: 'Subject: x\r\n\r\n', envelope: { from: 'ada@example.org', to } }
  const ended = await submitted([{ from: 'ada@example.org', to, text: 'x' }, raw])
  const messages = await listed(queue)
  queue.crash()
  expect(ended.exitCode).toBe(0)
  expect(messages.map(({ recipients }) => recipients)).toEqual([['Ada@example.net'], ['Ada@example.net']])
})

test('an envelope that has no list of addresses is refused', async () => {
  const queue = await opened()
  queue.crash()
  const rawTo = (to?: unknown): object => ({ raw: 'x', envelope: { from: 'ada@example.org', to } })
  const { stderr } = await submitted([rawTo(), rawTo([5])])
  expect(stderr).toMatch(/line 1: .*\(option recipients\)\n.*line 2: ADDRESS_INVALID/)
})

test('a message that no request to the relay holds is refused, and the next one is submitted', async () => {
  const relay = await opened()
  await serveControl(relay, queuePath())
  const ended = await submitted([{ ...mail(1), text: 'word '.repeat(2_600_000) }, mail(2)])
  relay.crash()
  expect(ended.stdout).toBe('1 message submitted, 1 line refused\n')
  expect(ended.stderr).toMatch(/line 1: MESSAGE_TOO_LARGE: \d+ bytes are too many for the control socket/)
})
