/** What a dry run lists without a relay: what a life would, which it does not begin. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ControlClient } from '../../../src/control/client.js'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { openQueue, serveControl, type ListedMessage, type Selector } from '../../../src/index.js'
import { InspectedQueue, routeWithoutRelay } from '../../../tools/commands/operate/inspected-queue.js'
import { frozenQueue } from '../../inspect/frozen-queue.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

/** The frozen queue, as files. */
async function laid(): Promise<string> {
  const directory = await temporaryDirectory('inspected')
  const { directories, files } = frozenQueue()
  for (const path of directories) await mkdir(join(directory, path), { recursive: true })
  for (const [path, bytes] of files) {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), bytes)
  }
  return directory
}

const selectors: readonly Selector[] = [
  { all: true },
  { sender: '' },
  { sender: 'sender1@from.example' },
  { recipient: 'part@slow.example' },
  { domain: 'FULL.example.' },
  { nexthop: 'later.example' },
  { nexthop: 'elsewhere.example' },
  { lane: 'incoming' },
  { lane: 'active' },
  { lane: 'deferred' },
  { lane: 'hold' },
  { lane: 0 },
  { lane: 1 },
  { lane: 2 },
  { lastStatus: '4.2' },
  { olderThan: 60_000, lane: 'deferred' },
  { id: '1KE7141Z8VP3VPKJ' },
  { id: '1KE7141Z8VP3VPKJ', lane: 'hold' },
]

async function all(source: AsyncIterable<ListedMessage>): Promise<ListedMessage[]> {
  const found: ListedMessage[] = []
  for await (const message of source) found.push(message)
  return found.sort((a, b) => (a.id < b.id ? -1 : 1))
}

test('every selector means the messages that it means to a life, each with the same facts', async () => {
  const directory = await laid()
  const inspected = new InspectedQueue(nodeDisk(directory), Date.now)
  const found = []
  for (const selector of selectors) found.push(await all(inspected.list(selector)))
  inspected.close()
  expect(inspected.findings).toEqual([])
  const queue = await openQueue(directory, { deliver: false, transports: {}, route: routeWithoutRelay })
  onTestFinished(() => queue.crash())
  const lived = []
  for (const selector of selectors) lived.push(await all(queue.list(selector)))
  expect(found).toEqual(lived)
  expect(found.filter(({ length }) => length > 0).length).toBeGreaterThan(12)
})

test('what senders asked to be told is listed as a life lists it, and a dry run shows it as mailq does', async () => {
  const parent = await temporaryDirectory('inspected')
  const directory = join(parent, 'queue')
  const options = { deliver: false, transports: {}, route: routeWithoutRelay, segmentBytes: 2 ** 20 }
  const queue = await openQueue(directory, options)
  const crowd = Array.from({ length: 1003 }, (_, i) => ({
    address: `r${i}@net.example`,
    orcpt: `rfc822;o${i}@x`,
  }))
  const recipients = [
    { address: 'ada@net.example', notify: 'never' as const },
    { address: 'bob@net.example', orcpt: 'rfc822;robert@net.example' },
  ]
  const message = { sender: 'eve@from.example', data: 'Subject: x\r\n\r\nx\r\n' }
  await queue.submit({ ...message, recipients, dsn: { id: 'b 2', return: 'full', notify: ['success'] } })
  await queue.submit({ ...message, recipients: crowd })
  await queue.submit({ ...message, recipients: ['carl@net.example'] })
  await queue.hold({ recipient: 'r0@net.example' })
  const lived = await all(queue.list())
  const overSocket = await serveControl(queue, directory)
  const client = (await ControlClient.connect(directory))!
  const asked = await all(client.list({}))
  client.close()
  overSocket.close()
  queue.crash()
  const inspected = new InspectedQueue(nodeDisk(directory), Date.now)
  const found = await all(inspected.list({}))
  inspected.close()
  expect(found).toEqual(lived)
  expect(asked).toEqual(lived)
  expect(new Set(lived.map(({ dsn }) => dsn?.recipients.length))).toEqual(new Set([1000, 2, undefined]))
  const json = async (...args: string[]): Promise<Record<string, unknown>[]> => {
    const { stdout } = await runWaybill([...args, '--queue', directory, '--json'], { directory: parent })
    const lines = stdout.trim().split('\n')
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  }
  const small = { recipient: 'ada@net.example' }
  const [shown] = await json('hold', '--recipient', small.recipient, '--dry-run')
  const [inMailq] = await json('mailq', '--recipient', small.recipient)
  const dsnOf = ({ ret, envid, recipients: named }: Record<string, unknown>) => ({ ret, envid, named })
  expect(dsnOf(shown!)).toEqual({
    ret: 'full',
    envid: 'b 2',
    named: [
      { address: 'ada@net.example', notify: 'never' },
      { address: 'bob@net.example', notify: ['success'], orcpt: 'rfc822;robert@net.example' },
    ],
  })
  expect(dsnOf(inMailq!)).toEqual(dsnOf(shown!))
})

test('a dry run changes no file, and is not kept from a queue that somebody else has open', async () => {
  const directory = await laid()
  const contents = async (): Promise<[string, Buffer][]> => {
    const names = await readdir(directory, { recursive: true, withFileTypes: true })
    const paths = names.filter((name) => name.isFile()).map(({ parentPath, name }) => join(parentPath, name))
    return Promise.all(
      paths.sort().map(async (path): Promise<[string, Buffer]> => [path, await readFile(path)]),
    )
  }
  const before = await contents()
  const dry = ['delete', '--queue', directory, '--lane', 'hold', '--dry-run']
  const ended = await runWaybill(dry, { directory })
  expect(ended).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/\n\d+ messages? selected\n$/) as string,
  })
  expect(await contents()).toEqual(before)
  const queue = await openQueue(directory, { deliver: false, transports: {}, route: routeWithoutRelay })
  onTestFinished(() => queue.crash())
  expect(await runWaybill(dry, { directory })).toEqual(ended)
})
