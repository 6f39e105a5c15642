/** `waybill history` beside the queue's owner, and when that is gone. */
import { expect, test } from 'vitest'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { openQueue } from '../../../src/index.js'
import { UsageError } from '../../../tools/commands/cli/command.js'
import { history } from '../../../tools/commands/look/history.js'
import { command, type Commanded } from '../../inspect/commanded.js'
import { temporaryDirectory } from '../../temporary-directory.js'

test('entries are shown as text and JSON, in pages, with the relay and without', async () => {
  const directory = await temporaryDirectory('history')
  const queue = await openQueue(directory, {
    transports: { out: { deliver: () => ({ kind: 'delivered', response: '250 fine' }) } },
    route: () => ({ transport: 'out', nexthop: 'example.net' }),
    segmentBytes: 2 ** 20,
    history: {},
  })
  const said = (...args: string[]): Promise<Commanded> =>
    command(history, ['--queue', directory, ...args], nodeDisk, Date.now())
  while (queue.consumers().length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const data = 'Message-ID: <a@example.org>\r\n\r\nhello\r\n'
  const { id } = await queue.submit({
    sender: 'ada@example.org',
    recipients: ['b@example.net'],
    data,
    tags: ['t'],
  })
  while (!(await said('--id', id)).stdout.includes('finished')) await queue.idle()
  queue.crash()
  const text = (await said('--id', id)).stdout.replaceAll(id, 'ID').replace(/^[^I]*/gm, '')
  expect(text.split('\n')).toEqual([
    'ID accepted from ada@example.org to b@example.net <a@example.org> #t',
    'ID delivered to b@example.net 250 fine #t',
    'ID finished #t',
    '',
  ])
  const first = await said('--tag', 't', '--limit', '2', '--json')
  expect(
    first.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).kind),
  ).toEqual(['accepted', 'delivered'])
  const after = /--after (\S+)/.exec(first.stderr)?.[1]
  expect((await said('--tag', 't', '--after', after!)).stdout).toContain('finished')
  expect((await said('--message-id', 'a@example.org')).stdout).toContain(id)
  const nothing = await said('--recipient', 'c@example.net')
  expect(nothing).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: 'waybill history: nothing of it is in the history\n',
  })
  await expect(said()).rejects.toThrow('expected one of')
})

test('a queue that never kept a history says so, and how one is kept', async () => {
  const directory = await temporaryDirectory('without-history')
  const queue = await openQueue(directory, {
    transports: { out: { deliver: () => ({ kind: 'delivered' }) } },
    route: () => ({ transport: 'out', nexthop: 'example.net' }),
    segmentBytes: 2 ** 20,
  })
  queue.crash()
  expect(
    await command(history, ['--queue', directory, '--id', '1M8P47PXA9RM27E2'], nodeDisk, Date.now()),
  ).toMatchObject({
    exitCode: 1,
    stderr: 'waybill history: this queue has no history; `serve --history 7d` keeps one from then on\n',
  })
})

test('a wrong place or selector is wrong usage, before the queue is looked for', async () => {
  const directory = await temporaryDirectory('no-queue')
  const said = (...args: string[]): Promise<Commanded> =>
    command(history, ['--queue', directory, ...args], nodeDisk, Date.now())
  await expect(said('--tag', 't', '--after', 'x')).rejects.toThrow(UsageError)
  await expect(said('--tag', 'x'.repeat(2000))).rejects.toThrow(UsageError)
})
