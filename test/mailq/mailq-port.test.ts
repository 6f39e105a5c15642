/** The MAILQ port and the socket `mailq`: what they answer, and what a client can cost. */
import { stat } from 'node:fs/promises'
import { connect, createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ListedMessage } from '../../src/index.js'
import { answerForMailq, clientCountMax, listenMailq, type MailqOptions } from '../../src/mailq/mailq-port.js'
import { messagesMax, recipientsMax, Readings, type ReadQueue } from '../../src/mailq/reading.js'
import { readDump } from '../../src/mailq/zmailer-dump.js'
import type { Listener } from '../../src/relay/listening.js'
import { systemClock } from '../../src/base/clock.js'
import { listedMessage } from '../control/fake-queue.js'
import { heldClock } from '../held-clock.js'
import { temporaryDirectory } from '../temporary-directory.js'

const message = (id: string, recipientCount = 1): ListedMessage =>
  listedMessage(id, {
    recipients: Array.from({ length: recipientCount }, (_, i) => `u${i}@one.example`),
    routed: Array.from({ length: recipientCount }, (_, index) => ({
      index,
      route: { transport: 'smtp', nexthop: 'one.example' },
    })),
  })

/** A queue that counts how often it is listed, and how far. */
function queueOf(
  messages: () => Iterable<ListedMessage>,
): ReadQueue & { listCount: number; tookCount: number } {
  return {
    listCount: 0,
    tookCount: 0,
    async *list() {
      this.listCount++
      for (const one of messages()) {
        this.tookCount++
        yield one
      }
    },
  }
}

async function listen(queue: ReadQueue, options: MailqOptions = {}): Promise<Listener> {
  const listener = await listenMailq(queue, { host: '127.0.0.1', port: 0 }, options)
  onTestFinished(() => listener.close())
  return listener
}

function client({ port }: Listener): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  return socket
}

const whole = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let text = ''
    socket.on('data', (piece: Buffer) => (text += piece.toString()))
    socket.once('close', () => resolve(text))
  })

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.resume()
    socket.once('close', () => resolve())
  })

test('a connection gets a dump, and is closed', async () => {
  const text = await whole(client(await listen(queueOf(() => [message('A'), message('B')]))))
  expect(readDump(text).map(({ file }) => file)).toEqual(['A', 'B'])
})

test('the socket in the directory is for all users, and gives what the owner sees', async () => {
  const directory = await temporaryDirectory('mailq')
  const stop = await answerForMailq(
    queueOf(() => [message('A')]),
    directory,
  )
  onTestFinished(stop)
  expect((await stat(join(directory, 'mailq'))).mode & 0o777).toBe(0o666)
  const lines = (await whole(createConnection(join(directory, 'mailq')))).trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual(['message', 'result'])
  expect(JSON.parse(lines[0]!)).toMatchObject({ message: { id: 'A', recipients: ['u0@one.example'] } })
})

test('a reading of an endless queue ends, and says that it is cut', async () => {
  const queue = queueOf(function* () {
    for (let i = 0; ; i++) yield message(`M${i}`)
  })
  const reading = await new Readings(queue, systemClock, () => undefined).read()
  expect(reading).toMatchObject({ isCut: true, messages: { length: messagesMax } })
  expect(queue.tookCount).toBe(messagesMax + 1)
})

test('a reading is bounded by recipients as well', async () => {
  const queue = queueOf(function* () {
    for (let i = 0; ; i++) yield message(`M${i}`, 1000)
  })
  const reading = await new Readings(queue, systemClock, () => undefined).read()
  expect(reading).toMatchObject({ isCut: true, messages: { length: recipientsMax / 1000 } })
})

test('damage costs the messages that cannot be read, and is told', async () => {
  const errors: unknown[] = []
  const queue = queueOf(function* () {
    yield message('A')
    throw new Error('rot')
  })
  const reading = await new Readings(queue, systemClock, (error) => errors.push(error)).read()
  expect(reading).toMatchObject({ isCut: true, messages: [{ id: 'A' }] })
  expect(errors).toEqual([new Error('rot')])
})

test('all that ask before a reading begins share it, and nobody gets one that began before', async () => {
  const clock = heldClock()
  const queue = queueOf(() => [message('A')])
  const readings = new Readings(queue, clock, () => undefined)
  const [first, second] = await Promise.all([readings.read(), readings.read()])
  expect(second).toBe(first)
  const later = Array.from({ length: 50 }, () => readings.read())
  await Promise.resolve()
  expect(queue.listCount).toBe(1)
  clock.advance(100)
  const [third, ...same] = await Promise.all(later)
  expect(third).not.toBe(first)
  expect(new Set([third, ...same]).size).toBe(1)
  expect(queue.listCount).toBe(2)
})

test('of too many clients the one that is there for longest gives way', async () => {
  const listener = await listen({
    list: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) }),
  })
  const oldest = client(listener)
  const gone = closed(oldest)
  await new Promise((resolve) => oldest.once('connect', resolve))
  const others = Array.from({ length: clientCountMax }, () => client(listener))
  await gone
  expect(others.filter(({ destroyed }) => destroyed)).toEqual([])
})

test('a client that is not done when its time is over is dropped', async () => {
  const clock = heldClock()
  const endless = {
    list: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) }),
  }
  const socket = client(await listen(endless, { clock, wholeMs: 60_000 }))
  const gone = closed(socket)
  await vi.waitFor(() => expect(clock.runningCount).toBe(1))
  clock.advance(59_999)
  expect(clock.runningCount).toBe(1)
  clock.advance(1)
  await gone
})

test('what a client sends is not read', async () => {
  const listener = await listen(queueOf(() => [message('A')]))
  const socket = client(listener)
  socket.write('version zmailer 1.0\nHELP\n'.repeat(1000))
  await closed(socket)
  expect(await whole(client(listener))).toContain('1:\tA\t1; 0')
})

test('a closed port drops its clients', async () => {
  const clock = heldClock()
  const listener = await listen(
    { list: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) }) },
    { clock },
  )
  const socket = client(listener)
  await vi.waitFor(() => expect(clock.runningCount).toBe(1))
  listener.close()
  await closed(socket)
})
