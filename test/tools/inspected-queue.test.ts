/** What a dry run lists without a relay: what a life would, which it does not begin. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { openQueue, type ListedMessage, type Selector } from '../../src/index.js'
import { InspectedQueue, routeWithoutRelay } from '../../tools/commands/inspected-queue.js'
import { frozenQueue } from '../inspect/frozen-queue.js'
import { runWaybill } from './command-process.js'

/** The frozen queue, as files. */
async function laid(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-inspected-'))
  onTestFinished(() => rm(directory, { recursive: true }))
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
