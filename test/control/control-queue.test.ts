/** The control socket of a real queue. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ControlClient } from '../../src/control/client.js'
import { openQueue, serveControl, type ControlServer, type Queue } from '../../src/index.js'

let directory: string
let queue: Queue
let server: ControlServer
const clients: ControlClient[] = []
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-control-'))
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  server.close()
  queue.crash()
  await rm(directory, { recursive: true, force: true })
})

async function open(): Promise<ControlClient> {
  queue = await openQueue(directory, {
    transports: { later: { deliver: async () => ({ kind: 'deferred', status: '4.2.1', reason: 'later' }) } },
    route: (recipient) => ({ transport: 'later', nexthop: recipient.split('@')[1] ?? '' }),
    segmentBytes: 2 ** 20,
  })
  queue.on('crashed', () => undefined)
  server = await serveControl(queue, directory)
  const client = await ControlClient.connect(directory)
  expect(client).toBeDefined()
  clients.push(client!)
  return client!
}

const submit = (recipient: string): Promise<unknown> =>
  queue.submit({ sender: 'ada@example.org', recipients: [recipient], data: 'Subject: x\r\n\r\nx\r\n' })

async function ids(source: AsyncIterable<{ readonly id: string }>): Promise<string[]> {
  const found: string[] = []
  for await (const { id } of source) found.push(id)
  return found
}

test('what is listed over the socket is what the queue lists', async () => {
  const client = await open()
  for (let i = 0; i < 5; i++) await submit(`r${i}@example${i % 2}.net`)
  // Where they stay: on the way there they are listed in another order.
  await expect.poll(() => ids(queue.list({ lane: 'deferred' }))).toHaveLength(5)
  const own = await ids(queue.list({ nexthop: 'example1.net' }))
  expect(own).toHaveLength(2)
  for (const nexthop of ['example1.net', 'EXAMPLE1.NET.'])
    expect(await ids(client.list({ nexthop }))).toEqual(own)
})

test('a verb that is asked for while the queue recovers is carried out', async () => {
  await open()
  for (let i = 0; i < 20; i++) await submit(`r${i}@example.net`)
  server.close()
  queue.crash()
  const client = await open()
  expect(queue.stats().recovering).toBe(true)
  expect(await client.verb({ do: 'hold', selector: { all: true } })).toEqual({
    messageCount: 20,
    recipientCount: 20,
    missedCount: 0,
    failedCount: 0,
    stopped: false,
  })
  expect(await ids(queue.list({ lane: 'hold' }))).toHaveLength(20)
})

test('a verb without a relay in sight: the socket of a life that is over refuses', async () => {
  const client = await open()
  queue.crash()
  await expect(client.verb({ do: 'hold', selector: { all: true } })).rejects.toMatchObject({
    code: 'QUEUE_CRASHED',
  })
  server.close()
  expect(await ControlClient.connect(directory)).toBeUndefined()
})

test('a selector that the queue refuses is refused over the socket, by its code', async () => {
  const client = await open()
  await expect(client.verb({ do: 'hold', selector: {} })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
})

test('the socket is no obstacle to the next life, and the only thing that the last one leaves beside the queue', async () => {
  await open()
  await submit('r@example.net')
  const before = await readdir(directory)
  expect(before).toContain('control')
  server.close()
  queue.crash()
  const client = await open()
  expect(await readdir(directory)).toEqual(before)
  await expect.poll(() => ids(client.list({}))).toHaveLength(1)
})
