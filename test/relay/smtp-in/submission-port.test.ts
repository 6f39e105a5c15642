/** The server before a queue that is behind a message port, as it is on a separate thread. */
import { Readable } from 'node:stream'
import { MessageChannel } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { WaybillError } from '../../../src/errors.js'
import type { Client, SubmitPort } from '../../../src/relay/smtp-in/smtp-handlers.js'
import {
  answerSubmissions,
  errorOf,
  portError,
  queueBehind,
} from '../../../src/relay/smtp-in/submission-port.js'
import { untilData } from '../raw-client.js'
import { connected, listen, memoryQueue } from './smtp-in-fixture.js'

function behindPort(queue: SubmitPort): SubmitPort {
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  answerSubmissions(port1, queue)
  return queueBehind(port2, queue.limits)
}

const trace = { session: 's1' }
const bringer: Client = { address: '192.0.2.1', helo: 'client.example' }

const submission = (text: string): Parameters<SubmitPort['submit']>[0] => ({
  sender: 's@example.org',
  recipients: ['a@example.net', 'b@example.net'],
  data: Buffer.from(text),
  smtputf8: true,
  longLines: true,
  id: 'i',
  dsn: { id: text.slice(0, 10) },
  notBefore: 2_000_000_000_000,
  priority: 'high',
})

/** Pieces of 1000 bytes, counted as they are read. */
function pieces(count: number): { readonly stream: Readable; readCount: () => number } {
  let read = 0
  const stream = new Readable({
    highWaterMark: 1000,
    read() {
      this.push(read++ < count ? Buffer.alloc(1000, `${read} `) : null)
    },
  })
  return { stream, readCount: () => read }
}

/** A queue behind a port that has a message's stream and does nothing with it. */
function unread(): { readonly port: SubmitPort; readonly seen: () => Readable | undefined } {
  let stream: Readable | undefined
  const port = behindPort({
    limits: { dataBytesMax: 1_000_000, recipientCountMax: 1 },
    submit: ({ data }) => {
      stream = data as Readable
      return new Promise(() => undefined)
    },
  })
  return { port, seen: () => stream }
}

test('what is submitted in one turn arrives in its order, each with its own data, and each gets its own answer', async () => {
  const queue = memoryQueue()
  const port = behindPort(queue)
  const texts = Array.from({ length: 50 }, (_, i) => `message ${i}`.repeat(i))
  const answers = await Promise.all(texts.map((text) => port.submit(submission(text), bringer, trace)))
  expect(answers.map(({ id }) => id)).toEqual(texts.map((_, i) => `q${i + 1}`))
  expect(queue.kept.map(({ data }) => data.toString())).toEqual(texts)
  expect(queue.kept[7]).toMatchObject({ ...submission(texts[7]!), data: Buffer.from(texts[7]!) })
})

test('one message after the other arrives once, and is answered', async () => {
  const queue = memoryQueue()
  const port = behindPort(queue)
  for (const text of ['first', 'second', 'third'])
    expect(await port.submit(submission(text), bringer, trace)).toEqual({ id: `q${queue.kept.length}` })
  expect(queue.kept.map(({ data }) => data.toString())).toEqual(['first', 'second', 'third'])
})

test('nothing is answered before the queue has settled', async () => {
  let settle = (): void => {}
  const port = behindPort(memoryQueue(() => new Promise((resolve) => (settle = resolve))))
  const answer = port.submit(submission('x'), bringer, trace)
  const first = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 100, 'silence'))])
  expect(first).toBe('silence')
  settle()
  expect(await answer).toEqual({ id: 'q1' })
})

test('an error of ours keeps its code and its reply, another one its text', async () => {
  const full = behindPort(memoryQueue(() => Promise.reject(new WaybillError('DISK_FULL', 'no room'))))
  await expect(full.submit(submission('x'), bringer, trace)).rejects.toMatchObject({
    code: 'DISK_FULL',
    reply: { code: 452 },
    message: 'no room',
  })
  const other = behindPort(memoryQueue(() => Promise.reject(new TypeError('a defect'))))
  await expect(other.submit(submission('x'), bringer, trace)).rejects.toThrow('a defect')
  const system = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', port: 25 })
  const told = errorOf(portError(system))
  expect(told).toMatchObject({ code: 'EADDRINUSE', port: 25, message: 'listen EADDRINUSE' })
  expect(told).not.toBeInstanceOf(WaybillError)
})

test('a stream arrives byte for byte, and no faster than the queue reads it', async () => {
  const { port, seen } = unread()
  const { stream, readCount } = pieces(500)
  void port.submit({ ...submission(''), data: stream }, bringer, trace)
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(readCount()).toBeLessThan(10)
  const arrived: Buffer[] = []
  for await (const piece of seen()!) arrived.push(piece as Buffer)
  const expected: Buffer[] = []
  for await (const piece of pieces(500).stream) expected.push(piece as Buffer)
  expect(Buffer.concat(arrived).equals(Buffer.concat(expected))).toBe(true)
})

test('what comes while the queue is busy goes to it in one piece', async () => {
  const { port, seen } = unread()
  const stream = new Readable({ highWaterMark: 100_000, read() {} })
  stream.push('first')
  void port.submit({ ...submission(''), data: stream }, bringer, trace)
  await expect.poll(seen).toBeDefined()
  for (let i = 0; i < 50; i++) stream.push(Buffer.alloc(1000, `${i} `))
  stream.push(null)
  const lengths: number[] = []
  const body = seen()!
  body.on('data', (piece: Buffer) => lengths.push(piece.length))
  await new Promise((resolve) => body.on('end', resolve))
  expect(lengths).toEqual([50_005])
})

test('a stream that fails fails in the queue, as a client that vanished', async () => {
  const queue = memoryQueue()
  const port = behindPort(queue)
  const stream = new Readable({ read() {} })
  stream.push('a part')
  setImmediate(() => stream.destroy(new WaybillError('SUBMIT_ABORTED', 'the client has gone')))
  await expect(port.submit({ ...submission(''), data: stream }, bringer, trace)).rejects.toMatchObject({
    code: 'SUBMIT_ABORTED',
    message: 'the client has gone',
  })
  expect(queue.kept).toEqual([])
})

test('a queue that refuses a stream it has not read is answered at once', async () => {
  const port = behindPort(memoryQueue(() => Promise.reject(new WaybillError('DISK_FULL', 'no room'))))
  const { stream, readCount } = pieces(1000)
  await expect(port.submit({ ...submission(''), data: stream }, bringer, trace)).rejects.toMatchObject({
    code: 'DISK_FULL',
  })
  expect(readCount()).toBeLessThan(10)
})

test('a client sends long and short mail through the port in one session, and vanishes in a third', async () => {
  const queue = memoryQueue()
  const refusals: unknown[] = []
  const onRefusal = (refusal: unknown): void => void refusals.push(refusal)
  const client = await connected(await listen(behindPort(queue), { onRefusal }))
  await untilData(client)
  const lines = 'a long message in many pieces\r\n'.repeat(20_000)
  expect(await client.say(`${lines}.`)).toBe('250 2.0.0 queued as q1')
  for (const line of ['MAIL FROM:<s@example.org>', 'RCPT TO:<r@example.net>', 'DATA']) await client.say(line)
  expect(await client.say('short\r\n.')).toBe('250 2.0.0 queued as q2')
  expect(queue.kept.map(({ data }) => data.toString())).toEqual([lines, 'short\r\n'])
  for (const line of ['MAIL FROM:<s@example.org>', 'RCPT TO:<r@example.net>', 'DATA']) await client.say(line)
  client.send(lines)
  await expect.poll(() => queue.submitCount).toBe(3)
  client.destroy()
  await expect.poll(() => refusals).toHaveLength(1)
  expect([queue.submitCount, queue.kept.length]).toEqual([3, 2])
})
