import { mkdtemp, rm } from 'node:fs/promises'
import { createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { ControlClient } from '../../src/control/client.js'
import { answerBytesMax, requestLine, requestBytesMax } from '../../src/control/protocol.js'
import { Traffic } from '../../src/control/traffic.js'
import { bindQueueSocket, controlSocket } from '../../src/disk/queue-socket.js'
import { systemClock } from '../../src/base/clock.js'
import { serveControl, type ControlOptions, type ControlServer } from '../../src/control/server.js'
import type { VerbResult } from '../../src/admin/verbs/tally.js'
import { WaybillError } from '../../src/errors.js'
import { counted, destinationAt, FakeQueue, listedMessage, nothing } from './fake-queue.js'

let directory: string
let queue: FakeQueue
let servers: ControlServer[] = []
let clients: { close(): void }[] = []
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-control-'))
  queue = new FakeQueue()
})
afterEach(async () => {
  for (const client of clients) client.close()
  for (const server of servers) server.close()
  clients = []
  servers = []
  await rm(directory, { recursive: true, force: true })
})

async function serve(options: ControlOptions = {}): Promise<ControlServer> {
  const server = await serveControl(queue, directory, options)
  servers.push(server)
  return server
}

async function connect(): Promise<ControlClient> {
  const client = await ControlClient.connect(directory)
  expect(client, 'somebody listens').toBeDefined()
  clients.push(client!)
  return client!
}

/** A client that says what it likes. */
function raw(text = ''): Socket & { heard: string } {
  const socket = Object.assign(createConnection(join(directory, 'control')), { heard: '' })
  socket.on('error', () => undefined)
  socket.write(text)
  clients.push({ close: () => socket.destroy() })
  return socket
}

function heard(socket: Socket & { heard: string }): Promise<string> {
  socket.on('data', (piece: Buffer) => (socket.heard += piece.toString()))
  return new Promise((resolve) => socket.once('close', () => resolve(socket.heard)))
}

const all = async <T>(source: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = []
  for await (const one of source) found.push(one)
  return found
}

test.each(['hold', 'release', 'requeue', 'delete', 'expire'] as const)(
  '%s reaches the queue with its selector, and its counts come back',
  async (verb) => {
    await serve()
    queue.answer = () =>
      Promise.resolve({ messageCount: 3, recipientCount: 5, missedCount: 1, failedCount: 2 })
    const client = await connect()
    expect(await client.verb({ do: verb, selector: { sender: '', lane: 'deferred' } })).toEqual({
      messageCount: 3,
      recipientCount: 5,
      missedCount: 1,
      failedCount: 2,
      stopped: false,
    })
    expect(queue.calls).toMatchObject([{ verb, selector: { sender: '', lane: 'deferred' } }])
  },
)

test('a reload is done by the process that has the queue open: what it has read comes back, or what was wrong', async () => {
  const files = [{ option: 'auth', path: '/etc/users', holds: '2 users' }]
  const answers = [
    Promise.resolve(files),
    Promise.reject(new WaybillError('OPTION_INVALID', 'line 7 is wrong')),
  ]
  answers[1]!.catch(() => {})
  await serve({ reload: () => answers.shift()! })
  const client = await connect()
  expect(await client.reload()).toEqual(files)
  await expect(client.reload()).rejects.toMatchObject({ code: 'OPTION_INVALID', message: 'line 7 is wrong' })
})

test('mistakes in the program of an owner end nothing: its listeners, and its answers', async () => {
  const wrong = (): never => {
    throw new Error('of the program')
  }
  const calls = [
    'reload',
    'retire',
    'submit',
    'problems',
    'onRequest',
    'onOutcome',
    'onRefusal',
    'onError',
  ] as const
  await serve(Object.fromEntries(calls.map((name) => [name, wrong])))
  const client = await connect()
  const failed = (name: string): object => ({
    code: 'OPTION_INVALID',
    message: expect.stringContaining(`'${name}' failed: of the program`) as string,
  })
  await expect(client.reload()).rejects.toMatchObject(failed('reload'))
  await expect(client.retire()).rejects.toMatchObject(failed('retire'))
  await expect(client.submit({ data: Buffer.from('x') })).rejects.toMatchObject(failed('submit'))
  expect(await client.verb({ do: 'hold', selector: { all: true } })).toMatchObject({ stopped: false })
  await expect(client.watch(100).next()).rejects.toMatchObject(failed('problems'))
})

test('an owner without files has nothing to reload', async () => {
  await serve()
  expect(await (await connect()).reload()).toEqual([])
})

test('files are kept until the client has copied them, or has gone', async () => {
  await serve()
  const pinned = await (await connect()).pin()
  expect(pinned.journalEnd).toBe(8192)
  expect(queue.pinned!.isReleased).toBe(false)
  pinned.release()
  await expect.poll(() => queue.pinned!.isReleased).toBe(true)
  expect(pinned.lost.aborted).toBe(false)
})

test('a client is told when files cannot be kept any longer, and when the relay goes away', async () => {
  const server = await serve()
  const first = await (await connect()).pin()
  queue.pinned!.lost.abort(new WaybillError('DISK_FULL', 'short of room'))
  await expect.poll(() => first.lost.aborted).toBe(true)
  expect(first.lost.reason).toMatchObject({ code: 'DISK_FULL', message: 'short of room' })
  expect(queue.pinned!.isReleased).toBe(true)
  const second = await (await connect()).pin()
  server.close()
  await expect.poll(() => second.lost.aborted).toBe(true)
  expect(second.lost.reason).toMatchObject({ code: 'QUEUE_CRASHED' })
})

test('flush and reroute take what they need besides', async () => {
  await serve()
  const client = await connect()
  const selector = { all: true } as const
  await client.verb({ do: 'flush', selector, perSecond: 7 })
  await client.verb({ do: 'flush', selector, perSecond: Infinity })
  await client.verb({ do: 'flush', selector })
  await client.verb({ do: 'reroute', selector, nexthop: 'mx.example.net' })
  await client.verb({ do: 'reroute', selector, nexthop: 'mx.example.net', transport: 'out' })
  expect(queue.calls.map(({ more }) => more)).toEqual([
    7,
    Infinity,
    undefined,
    { nexthop: 'mx.example.net' },
    { nexthop: 'mx.example.net', transport: 'out' },
  ])
})

test('an error of the queue keeps its code, and the client can go on', async () => {
  await serve()
  queue.answer = () => Promise.reject(new WaybillError('DISK_FULL', 'no room on the disk'))
  const client = await connect()
  await expect(client.verb({ do: 'hold', selector: { all: true } })).rejects.toMatchObject({
    code: 'DISK_FULL',
    message: 'no room on the disk',
  })
  queue.answer = () => Promise.resolve(counted(4))
  expect(await client.verb({ do: 'hold', selector: { all: true } })).toMatchObject({ messageCount: 4 })
})

test('progress is told while a verb is under way', async () => {
  await serve()
  queue.answer = async ({ options }) => {
    options.onProgress?.(counted(10))
    // No more often than ten times a second.
    options.onProgress?.(counted(11))
    await new Promise((resolve) => setTimeout(resolve, 120))
    options.onProgress?.(counted(20))
    return counted(30)
  }
  const client = await connect()
  const told: VerbResult[] = []
  await client.verb({ do: 'delete', selector: { all: true } }, { onProgress: (soFar) => told.push(soFar) })
  expect(told).toEqual([counted(10), counted(20)])
})

test('how far a verb came is told before the error that it ends with', async () => {
  await serve()
  queue.answer = async ({ options }) => {
    for (const count of [10, 20, 30]) options.onProgress?.(counted(count))
    return Promise.reject(new WaybillError('LOG_CORRUPT', 'it does not verify'))
  }
  const client = await connect()
  const told: VerbResult[] = []
  const verb = client.verb(
    { do: 'delete', selector: { all: true } },
    { onProgress: (soFar) => told.push(soFar) },
  )
  await expect(verb).rejects.toMatchObject({ code: 'LOG_CORRUPT' })
  expect(told.at(-1)).toEqual(counted(30))
})

test('stop ends a verb, and the answer is how far it came', async () => {
  await serve()
  queue.answer = ({ options }) => {
    options.onProgress?.(counted(8))
    return new Promise((_, reject) =>
      options.signal?.addEventListener('abort', () => reject(new WaybillError('VERB_ABORTED', 'aborted'))),
    )
  }
  const client = await connect()
  const outcome = client.verb({ do: 'delete', selector: { all: true } }, { signal: AbortSignal.timeout(50) })
  expect(await outcome).toEqual({ ...counted(8), stopped: true })
})

test('a verb that had ended when stop came is not stopped', async () => {
  await serve()
  queue.answer = ({ options }) =>
    new Promise((resolve) => options.signal?.addEventListener('abort', () => resolve(counted(12))))
  const client = await connect()
  const outcome = client.verb({ do: 'delete', selector: { all: true } }, { signal: AbortSignal.timeout(50) })
  expect(await outcome).toEqual({ ...counted(12), stopped: false })
  expect(
    await client.verb({ do: 'delete', selector: { all: true } }, { signal: AbortSignal.abort() }),
  ).toMatchObject({ stopped: false })
})

test('a client that leaves stops what it asked for', async () => {
  await serve()
  const aborted = new Promise((resolve) => {
    queue.answer = ({ options }) =>
      new Promise((settle) => {
        options.signal?.addEventListener('abort', () => {
          resolve(true)
          settle(nothing)
        })
      })
  })
  const socket = raw(requestLine({ do: 'delete', selector: { all: true } }))
  await expect.poll(() => queue.calls.length).toBe(1)
  socket.destroy()
  expect(await aborted).toBe(true)
})

test('a client that leaves, or says stop, ends a listing in which nothing matches', async () => {
  await serve()
  let abortedCount = 0
  queue.listed = async function* ({ signal }) {
    await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    abortedCount++
    yield* []
  }
  const line = requestLine({ do: 'list', selector: { sender: 'nobody@example.org' } })
  const leaving = raw(line)
  await expect.poll(() => queue.calls.length).toBe(1)
  leaving.destroy()
  await expect.poll(() => abortedCount).toBe(1)
  const closed = heard(raw(`${line}${requestLine({ do: 'stop' })}rubbish\n`))
  expect(await closed).toMatch(/^{"kind":"result"}\n{"kind":"error"/)
  expect(abortedCount).toBe(2)
})

test('what a client asks, or says wrongly, while its verb is under way waits for its turn and stops nothing', async () => {
  await serve()
  let isAborted = false
  let finish = (): void => undefined
  queue.answer = ({ options }) =>
    new Promise((resolve) => {
      options.signal?.addEventListener('abort', () => (isAborted = true))
      finish = () => resolve(counted(1))
    })
  const verb = requestLine({ do: 'hold', selector: { all: true } })
  const next = [requestLine({ do: 'resume', transport: 'out', name: 'x' }), 'rubbish\n']
  for (const [i, line] of next.entries()) {
    const socket = raw(`${verb}${line}`)
    const closed = heard(socket)
    await expect.poll(() => queue.calls.length).toBe(i + 1)
    await sleep(50)
    expect(isAborted).toBe(false)
    finish()
    await expect.poll(() => socket.heard.split('\n').length).toBe(3)
    expect(socket.heard).toMatch(/^{"kind":"result","outcome":{"messageCount":1.*"stopped":false}}\n/)
    socket.destroy()
    await closed
  }
})

test('a signal that is aborted when its verb has ended stops nothing of what the client asks next', async () => {
  await serve()
  const client = await connect()
  const abort = new AbortController()
  await client.verb({ do: 'hold', selector: { all: true } }, { signal: abort.signal })
  let isStopped = false
  queue.answer = async ({ options }) => {
    options.signal?.addEventListener('abort', () => (isStopped = true))
    abort.abort()
    await sleep(100)
    return counted(2)
  }
  expect(await client.verb({ do: 'delete', selector: { all: true } })).toMatchObject({ messageCount: 2 })
  expect(isStopped).toBe(false)
})

test('two verbs of two clients are under way at once', async () => {
  await serve()
  const finish: ((counts: VerbResult) => void)[] = []
  queue.answer = () => new Promise((resolve) => finish.push(resolve))
  const [one, two] = [await connect(), await connect()]
  const first = one.verb({ do: 'hold', selector: { sender: 'a@b' } })
  const second = two.verb({ do: 'delete', selector: { sender: 'c@d' } })
  await expect.poll(() => finish.length).toBe(2)
  const [a, b] = finish
  if (queue.calls[0]?.verb === 'hold') b?.(counted(2))
  else a?.(counted(2))
  expect(await second).toMatchObject({ messageCount: 2 })
  a?.(counted(1))
  b?.(counted(1))
  expect(await first).toMatchObject({ messageCount: 1 })
})

test('a listing comes whole and in order', async () => {
  await serve()
  const messages = Array.from({ length: 2000 }, (_, i) =>
    listedMessage(`M${i}`, { dueAt: i % 2 === 0 ? i : Infinity }),
  )
  queue.listed = async function* () {
    yield* messages
  }
  const client = await connect()
  expect(await all(client.list({ nexthop: 'example.net' }))).toEqual(messages)
  expect(queue.calls).toMatchObject([{ verb: 'list', selector: { nexthop: 'example.net' } }])
})

test('a listing waits for its reader, and ends when the reader leaves', async () => {
  await serve()
  let yielded = 0
  let ended = false
  queue.listed = async function* () {
    try {
      for (;;) {
        yielded++
        yield listedMessage(`M${yielded}`, { sender: 'x'.repeat(10_000) })
      }
    } finally {
      ended = true
    }
  }
  const socket = raw(requestLine({ do: 'list', selector: {} }))
  socket.pause()
  await expect.poll(() => yielded).toBeGreaterThan(0)
  let before = -1
  await expect
    .poll(
      () => {
        const stands = yielded === before
        before = yielded
        return stands
      },
      { interval: 200 },
    )
    .toBe(true)
  expect(yielded).toBeLessThan(1000)
  socket.destroy()
  await expect.poll(() => ended).toBe(true)
})

test('a reader of a listing that reads nothing is disconnected', async () => {
  await serve({ stallMs: 100 })
  let ended = false
  queue.listed = async function* () {
    try {
      for (;;) yield listedMessage('M', { sender: 'x'.repeat(10_000) })
    } finally {
      ended = true
    }
  }
  raw(requestLine({ do: 'list', selector: {} })).pause()
  await expect.poll(() => ended).toBe(true)
})

test('destinations are listed, and one is resumed', async () => {
  await serve()
  queue.known = [
    destinationAt('example.net'),
    destinationAt('example.com', {
      state: { kind: 'dead', untilMs: 5, reason: { status: '4.4.1', text: 'no' } },
    }),
  ]
  const client = await connect()
  expect(await all(client.destinations())).toEqual(queue.known)
  expect(await client.resume('out', 'example.com')).toBe(true)
  expect(await client.resume('out', 'example.org')).toBe(false)
})

test('a destination is suspended until it is resumed, and the client reads no end of it', async () => {
  await serve()
  const order = { nexthop: 'example.net' }
  queue.known = [destinationAt('example.net', { state: { kind: 'suspended', untilMs: Infinity, order } })]
  const client = await connect()
  expect(await client.unsuspend(order)).toBe(false)
  await client.suspend(order, { forMs: 5 })
  expect(queue.suspended).toEqual([{ ...order, forMs: 5 }])
  expect(await all(client.destinations())).toEqual(queue.known)
  expect(await client.unsuspend(order)).toBe(true)
})

test('a destination is slowed', async () => {
  await serve()
  const client = await connect()
  const site = { nexthop: 'example.net', count: 5, perMs: 60_000, forMs: 1000 }
  await client.slow(site)
  expect(queue.slowed).toEqual([site])
})

test('mail is counted while somebody watches, and nobody listens before or after', async () => {
  await serve()
  const listening = (): number => queue.listenerCount('delivered') + queue.listenerCount('accepted')
  expect(listening()).toBe(0)
  const client = await connect()
  const samples = client.watch(100)
  expect((await samples.next()).value).toMatchObject({ acceptedCount: 0, deliveredCount: 0 })
  const facts = {
    id: 'M' as never,
    sender: '',
    transport: 'out',
    nexthop: 'example.net',
    status: '',
    text: '',
    attempt: 1,
    delayMs: 0,
    dataBytes: 1,
  }
  queue.known = [destinationAt('example.net')]
  queue.emit('accepted', { id: 'M' as never, sender: '', recipientCount: 3, dataBytes: 1 })
  queue.emit('delivered', { ...facts, recipients: ['a', 'b'] })
  queue.emit('deferred', { ...facts, recipients: ['c'] })
  queue.emit('failed', { ...facts, recipients: ['d'] })
  queue.emit('expired', { id: 'M' as never, sender: '', recipientCount: 4 })
  const { value } = await samples.next()
  expect(value).toMatchObject({
    acceptedCount: 1,
    deliveredCount: 2,
    deferredCount: 1,
    failedCount: 5,
    destinationCount: 1,
    destinations: [{ nexthop: 'example.net', deliveredCount: 2 }],
  })
  expect(value?.statistics.lanes.map(({ intervalMs }: { intervalMs: number }) => intervalMs)).toEqual([
    0,
    Infinity,
  ])
  await samples.return(undefined)
  await expect.poll(listening).toBe(0)
})

test('of more destinations than are counted those that nothing waits for are forgotten', () => {
  const traffic = new Traffic(queue, systemClock)
  const leave = traffic.watch()
  const deliverTo = (nexthop: string): void =>
    void queue.emit('delivered', {
      id: 'M' as never,
      sender: '',
      transport: 'out',
      nexthop,
      recipients: ['a'],
      status: '',
      text: '',
      attempt: 1,
      delayMs: 0,
      dataBytes: 1,
    })
  queue.known = [destinationAt('busy.example')]
  deliverTo('busy.example')
  for (let i = 1; i < 10_000; i++) deliverTo(`d${i}.example`)
  traffic.sample()
  const countsOf = (...nexthops: string[]): number[] => {
    queue.known = nexthops.map((nexthop) => destinationAt(nexthop))
    return traffic.sample().destinations.map(({ deliveredCount }) => deliveredCount)
  }
  expect(countsOf('busy.example', 'd1.example')).toEqual([1, 1])
  deliverTo('last.example')
  expect(countsOf('busy.example')).toEqual([1])
  expect(countsOf('busy.example', 'd1.example', 'last.example')).toEqual([1, 0, 0])
  leave()
  deliverTo('busy.example')
  expect(countsOf('busy.example')).toEqual([1])
})

test('a sample has the problems that the owner of the queue knows, where it says them', async () => {
  const problem = { code: 'NOTHING_DELIVERED', severity: 'warning', text: 'Nothing is delivered.' }
  await serve({ problems: () => [{ ...problem, more: 'x'.repeat(100) }] as never })
  const { value } = await (await connect()).watch(100).next()
  expect(value?.problems).toEqual([problem])
})

test('a long watch leaves no listener behind for each of its samples', async () => {
  await serve()
  const added = vi.spyOn(EventTarget.prototype, 'addEventListener')
  const removed = vi.spyOn(EventTarget.prototype, 'removeEventListener')
  const samples = (await connect()).watch(100)
  for (let i = 0; i < 6; i++) await samples.next()
  const ofAbort = (spy: typeof added | typeof removed): number =>
    spy.mock.calls.filter(([name]) => name === 'abort').length
  expect(ofAbort(added)).toBeGreaterThan(3)
  expect(ofAbort(added) - ofAbort(removed)).toBeLessThan(3)
  added.mockRestore()
  removed.mockRestore()
})

test('a sample names the destinations in trouble first, and not more than a hundred', async () => {
  await serve()
  const dead = { kind: 'dead', untilMs: 5, reason: { status: '4.4.1', text: 'no' } } as const
  queue.known = [
    ...Array.from({ length: 300 }, (_, i) => destinationAt(`d${i}.example`, { todo: i })),
    destinationAt('dead.example', { state: dead }),
    destinationAt('suspended.example', { state: { kind: 'suspended', untilMs: 5 } }),
    destinationAt('busy.example', { todo: 290, busy: 100 }),
  ]
  const client = await connect()
  const { value } = await client.watch(100).next()
  expect(value?.destinationCount).toBe(303)
  expect(value?.destinations).toHaveLength(100)
  expect(value?.destinations.slice(0, 4)).toMatchObject([
    { nexthop: 'dead.example' },
    { nexthop: 'suspended.example' },
    { nexthop: 'busy.example' },
    { nexthop: 'd299.example' },
  ])
})

test.each([
  ['that there is not', { clientsMax: 5 }, 'clientsMax'],
  ['of no length', { stallMs: 0 }, 'stallMs'],
  ['beyond its bounds', { clientCountMax: 0 }, 'clientCountMax'],
])('an option %s is refused before anything listens', async (_, options, option) => {
  await expect(serve(options as ControlOptions)).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    place: { option },
  })
  expect(await ControlClient.connect(directory)).toBeUndefined()
})

test.each([
  ['rubbish', 'GET / HTTP/1.1\n', 'OPTION_INVALID'],
  ['a request of a later version', '{"waybill":9,"do":"stop"}\n', 'FORMAT_NEWER'],
  ['a line without an end', 'x'.repeat(requestBytesMax + 1), 'OPTION_INVALID'],
])('a client that sends %s is told so and disconnected, and others notice nothing', async (_, text, code) => {
  await serve()
  const client = await connect()
  const answer = await heard(raw(text))
  expect(answer).toContain(`"code":"${code}"`)
  expect(await client.verb({ do: 'hold', selector: { all: true } })).toMatchObject({ messageCount: 1 })
})

test('a client that sends a flood while its verb is under way is not read on', async () => {
  await serve()
  queue.answer = () => new Promise(() => undefined)
  const socket = raw(requestLine({ do: 'hold', selector: { all: true } }))
  await expect.poll(() => queue.calls.length).toBe(1)
  const line = `${' '.repeat(59_999)}\n`
  const written = (): Promise<boolean> =>
    Promise.race([
      new Promise<boolean>((resolve) => socket.write(line, () => resolve(true))),
      sleep(1000, false),
    ])
  let takenCount = 0
  while (takenCount < 1000 && (await written())) takenCount++
  expect(takenCount).toBeGreaterThan(10)
  expect(takenCount).toBeLessThan(200)
})

test('a client that says nothing is disconnected', async () => {
  const waiting: (() => void)[] = []
  const clock = {
    wallMs: () => 0,
    monotonicMs: () => 0,
    soon: setImmediate,
    after: (delayMs: number, callback: () => void) => {
      if (delayMs === 10_000) waiting.push(callback)
      return { cancel: () => undefined }
    },
  }
  await serve({ clock })
  const closed = heard(raw())
  await expect.poll(() => waiting.length).toBe(1)
  waiting[0]?.()
  expect(await closed).toBe('')
})

test('a client that reads late, but in time, is not disconnected', async () => {
  const stallMs = 12_345
  const waits: string[] = []
  const clock = {
    ...systemClock,
    after: (delayMs: number, callback: () => void) => {
      if (delayMs !== stallMs) return systemClock.after(delayMs, callback)
      const at = waits.push('begun') - 1
      return { cancel: () => void (waits[at] = 'ended in time') }
    },
  }
  await serve({ clock, stallMs })
  // What is written beyond what the system buffers is read late, but in time.
  const messages = Array.from({ length: 300 }, (_, i) =>
    listedMessage(`M${i}`, { sender: 'x'.repeat(10_000) }),
  )
  queue.listed = async function* () {
    yield* messages
  }
  const socket = raw(requestLine({ do: 'list', selector: {} }))
  socket.pause()
  await expect.poll(() => waits).toContain('begun')
  const closed = heard(socket)
  socket.resume()
  await expect.poll(() => socket.heard.includes('"kind":"result"')).toBe(true)
  expect(new Set(waits)).toEqual(new Set(['ended in time']))
  socket.write('rubbish\n')
  expect((await closed).slice(-100)).toContain('OPTION_INVALID')
})

test('the time that a client may take to ask ends when it has asked', async () => {
  const cancelled: boolean[] = []
  const clock = {
    ...systemClock,
    after: (delayMs: number, callback: () => void) => {
      const timer = systemClock.after(delayMs, callback)
      if (delayMs !== 10_000) return timer
      const at = cancelled.push(false) - 1
      return { cancel: () => ((cancelled[at] = true), timer.cancel()) }
    },
  }
  await serve({ clock })
  queue.answer = () => new Promise(() => undefined)
  const client = await connect()
  await client.resume('out', 'x')
  client.verb({ do: 'hold', selector: { all: true } }).catch(() => undefined)
  await expect.poll(() => queue.calls.length).toBe(1)
  expect(cancelled).toEqual([true, true])
})

test('more clients than it serves are told to come again, and one that leaves makes room', async () => {
  await serve({ clientCountMax: 2 })
  const [one] = [await connect(), await connect()]
  const third = await connect()
  await expect(third.resume('out', 'x')).rejects.toMatchObject({ code: 'QUEUE_LOCKED' })
  one.close()
  await expect
    .poll(async () => (await connect()).resume('out', 'x').catch((error: unknown) => error))
    .toBe(false)
})

test('the log has a request, and how it ended', async () => {
  const told: unknown[] = []
  await serve({
    onRequest: (request) => told.push(request.do),
    onOutcome: (request, outcome) => told.push([request.do, outcome.messageCount, outcome.stopped]),
    onRefusal: (request, error) => told.push([request.do, error.code]),
  })
  const client = await connect()
  await client.verb({ do: 'hold', selector: { id: 'X' } })
  queue.answer = () => Promise.reject(new WaybillError('DISK_FULL', 'no room'))
  await expect(client.verb({ do: 'delete', selector: { id: 'X' } })).rejects.toMatchObject({
    code: 'DISK_FULL',
  })
  expect(told).toEqual(['hold', ['hold', 1, false], ['delete', 'DISK_FULL']])
})

test('the log has a verb that is refused when it has come to messages, as it has one that goes on', async () => {
  const told: unknown[] = []
  await serve({
    onRequest: (request) => told.push(request.do),
    onRefusal: (request, error) => told.push([request.do, error.code]),
  })
  queue.answer = ({ options }) => {
    options.onProgress?.(counted(1))
    options.onProgress?.(counted(2))
    return Promise.reject(new WaybillError('DISK_FULL', 'no room'))
  }
  const client = await connect()
  const outcome = client.verb({ do: 'delete', selector: { all: true } })
  await expect(outcome).rejects.toMatchObject({ code: 'DISK_FULL' })
  await all(client.destinations())
  expect(told).toEqual(['delete', ['delete', 'DISK_FULL'], 'destinations'])
})

test('when the relay goes away in the middle of a verb, the client is told', async () => {
  const server = await serve()
  queue.answer = () => new Promise(() => undefined)
  const client = await connect()
  const outcome = client.verb({ do: 'hold', selector: { all: true } })
  await expect.poll(() => queue.calls.length).toBe(1)
  server.close()
  await expect(outcome).rejects.toMatchObject({ code: 'QUEUE_CRASHED' })
  expect(await ControlClient.connect(directory)).toBeUndefined()
})

test('an answer is bounded too', () => {
  expect(answerBytesMax).toBeGreaterThan(1000 * (320 + 500) * 6)
})

test('a relay that is stopped is given up, one that works for long is waited for', async () => {
  const answers: ((socket: Socket) => void)[] = []
  const relay = createServer((socket) => {
    socket.on('error', () => undefined)
    answers.shift()?.(socket)
  })
  await bindQueueSocket(relay, directory, controlSocket)
  onTestFinished(() => void relay.close())
  const patience = { silenceMs: 20, aliveMs: 200 }
  // It answers on the second connection that it lives, and then on the first one.
  answers.push((first) =>
    answers.push((second) => second.write('{}\n', () => first.write('{"kind":"result","resumed":true}\n'))),
  )
  const busy = await ControlClient.connect(directory, patience)
  expect(await busy!.resume('t', 'n')).toBe(true)
  busy!.close()
  const stopped = await ControlClient.connect(directory, patience)
  await expect(stopped!.resume('t', 'n')).rejects.toMatchObject({
    code: 'QUEUE_LOCKED',
    message: expect.stringContaining('it is stopped, or hangs') as string,
  })
})
