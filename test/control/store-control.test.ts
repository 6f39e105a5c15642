/** Commands reach the owner of a queue through its store. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { ControlClient } from '../../src/control/client.js'
import { serveStoreControl } from '../../src/control/store-server.js'
import { callOwner } from '../../src/control/store-client.js'
import type { ControlServer } from '../../src/control/server.js'
import type { OwnLife } from '../../src/store/calls.js'
import { counted, FakeQueue, listedMessage } from './fake-queue.js'
import { MemoryStore } from './memory-calls.js'

const life: OwnLife = { queue: 1, nonce: 'first', timeline: 1 }
let store: MemoryStore
let queue: FakeQueue
let servers: ControlServer[] = []
let clients: ControlClient[] = []
beforeEach(() => {
  store = new MemoryStore()
  queue = new FakeQueue()
})
afterEach(() => {
  for (const client of clients) client.close()
  for (const server of servers) server.close()
  clients = []
  servers = []
})

function serve(own: () => OwnLife | undefined = () => life, onError?: (error: Error) => void): void {
  servers.push(serveStoreControl(queue, store, own, onError === undefined ? {} : { onError }))
}

async function connect(): Promise<ControlClient | undefined> {
  const client = await ControlClient.over(() => callOwner(store, 'mx1', systemClock), {})
  if (client !== undefined) clients.push(client)
  return client
}

/** Handled from the beginning. */
const failing = (verb: Promise<unknown>): Promise<unknown> => verb.catch((error: unknown) => error)

test('a verb is carried out by the owner, and its counts come back', async () => {
  serve()
  queue.answer = () => Promise.resolve(counted(7))
  const client = await connect()
  expect(await client?.verb({ do: 'hold', selector: { sender: 'a@b' } })).toEqual({
    ...counted(7),
    stopped: false,
  })
  expect(queue.calls.map(({ verb, selector }) => [verb, selector])).toEqual([['hold', { sender: 'a@b' }]])
})

test('a listing of many megabytes arrives whole and in order, and little of it waits in the store', async () => {
  serve()
  const count = 20_000
  queue.listed = async function* () {
    for (let i = 0; i < count; i++) yield { ...listedMessage('m'), sender: `${i}@${'x'.repeat(200)}` }
  }
  const senders: string[] = []
  const client = await connect()
  for await (const { sender } of client!.list({})) senders.push(sender.split('@')[0]!)
  expect(senders).toEqual(Array.from({ length: count }, (_, i) => String(i)))
  expect(store.unreadBytesMost).toBeLessThan(2 * 1024 * 1024)
})

test('a long submission arrives whole', async () => {
  serve()
  let bytes = 0
  const taking = async ({ data }: { data: unknown }): Promise<unknown> => {
    bytes = (data as Buffer).length
    return { id: 'x', isDuplicate: false }
  }
  Object.assign(queue, { submit: taking })
  const client = await connect()
  const data = Buffer.alloc(3_000_000, 'y')
  const submission = { sender: 'a@b', recipients: ['c@d'], data }
  expect(await client?.submit(submission)).toMatchObject({ id: 'x' })
  expect(bytes).toBe(3_000_000)
})

test('what the owner said before it went away is heard, and then that it went', async () => {
  serve()
  queue.listed = async function* () {
    yield listedMessage('m')
    await new Promise(() => undefined)
  }
  const client = await connect()
  const listing = client!.list({})
  expect((await listing.next()).value).toBeDefined()
  const end = listing.next()
  servers[0]!.close()
  await expect(end).rejects.toMatchObject({ code: 'QUEUE_CRASHED' })
})

test('a failover ends a call, and the next one is answered', async () => {
  serve()
  const first = await connect()
  queue.answer = () => new Promise(() => undefined)
  const verb = failing(first!.verb({ do: 'hold', selector: { all: true } }))
  await expect.poll(() => queue.calls.length).toBe(1)
  store.failOver()
  expect(await verb).toMatchObject({ code: 'QUEUE_CRASHED' })
  queue.answer = () => Promise.resolve(counted(1))
  const second = await connect()
  expect(await second?.verb({ do: 'hold', selector: { all: true } })).toMatchObject({ messageCount: 1 })
})

test('an owner that goes on at a new primary is called there, though the old one lives', async () => {
  const old = store
  const promoted = new MemoryStore(2)
  let own = life
  const place = { name: 'both', connectCalls: () => store.connectCalls() }
  const fast = { ...systemClock, after: (ms: number, run: () => void) => systemClock.after(ms / 20, run) }
  servers.push(serveStoreControl(queue, place, () => own, { clock: fast }))
  await expect.poll(() => old.connections.size).toBe(1)
  store = promoted
  own = { ...life, timeline: 2 }
  queue.answer = () => Promise.resolve(counted(3))
  const client = await connect()
  expect(await client?.verb({ do: 'hold', selector: { all: true } })).toMatchObject({ messageCount: 3 })
  expect(old.connections.size).toBe(0)
})

test('a request ends when the command that asked is gone', async () => {
  serve()
  let signal: AbortSignal | undefined
  queue.answer = ({ options }) => {
    signal = options.signal
    return new Promise(() => undefined)
  }
  const client = await connect()
  const verb = failing(client!.verb({ do: 'hold', selector: { all: true } }))
  await expect.poll(() => signal).toBeDefined()
  for (const { caller } of store.calls) caller.close()
  await expect.poll(() => signal?.aborted).toBe(true)
  expect(await verb).toMatchObject({ code: 'QUEUE_CRASHED' })
})

test('a life that has lost the queue takes no call', async () => {
  const other = { ...life, nonce: 'second' }
  store.owner = other
  serve()
  const second = new FakeQueue()
  servers.push(serveStoreControl(second, store, () => other))
  const client = await connect()
  await client!.verb({ do: 'hold', selector: { all: true } })
  expect(queue.calls).toEqual([])
  expect(second.calls).toHaveLength(1)
})

test('without an owner nobody is called, and nothing is left behind', async () => {
  store.owner = undefined
  expect(await connect()).toBeUndefined()
  store.owner = life
  store.isConnected = false
  expect(await connect()).toBeUndefined()
  expect(store.calls).toEqual([])
  expect(store.connections.size).toBe(0)
})

test('an owner that is gone while it is called is not waited for', async () => {
  const client = connect()
  await expect.poll(() => store.calls.length).toBe(1)
  store.isConnected = false
  expect(await client).toBeUndefined()
  expect(store.calls).toEqual([])
})

test('in a store of an earlier version nobody is called, and its owner says why, once', async () => {
  store.isOld = true
  const errors: string[] = []
  serve(
    () => life,
    ({ message }) => errors.push(message),
  )
  expect(await connect()).toBeUndefined()
  await expect.poll(() => errors).toEqual(['no tables for calls'])
})
