import type { Readable } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { WaybillError } from '../../src/errors.js'
import {
  listenSmtp,
  type SmtpListener,
  type SmtpServerOptions,
  type SubmitPort,
} from '../../src/relay/smtp-in.js'
import { rawClient, untilData, type RawClient } from './raw-client.js'

const closing: { close(): void }[] = []
afterEach(() => {
  for (const one of closing.splice(0)) one.close()
})

interface Kept {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly data: Buffer
  readonly smtputf8: boolean
  readonly streamed: boolean
}

/** Keeps what is submitted in memory, after `before`. */
function memoryQueue(
  before: () => Promise<void> = () => Promise.resolve(),
  limits = { dataBytesMax: 2_000_000, recipientCountMax: 100 },
): SubmitPort & { readonly kept: Kept[]; submitCount: number } {
  const queue = {
    kept: [] as Kept[],
    submitCount: 0,
    limits,
    submit: async ({ data, ...envelope }: Parameters<SubmitPort['submit']>[0]) => {
      queue.submitCount++
      await before()
      const whole = Buffer.isBuffer(data) ? data : await drained(data)
      queue.kept.push({ ...envelope, data: whole, streamed: !Buffer.isBuffer(data) })
      return { id: `q${queue.kept.length}` }
    },
  }
  return queue
}

async function drained(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function listen(queue: SubmitPort, options: Partial<SmtpServerOptions> = {}): Promise<SmtpListener> {
  const listener = await listenSmtp(queue, {
    host: '127.0.0.1',
    port: 0,
    purpose: 'local',
    hostname: 'mx.example.net',
    received: false,
    ...options,
  })
  closing.push(listener)
  return listener
}

async function connected(listener: SmtpListener): Promise<RawClient> {
  const client = await rawClient(listener.port)
  closing.push({ close: () => client.destroy() })
  return client
}

test('a message is handed to the queue byte for byte, and answered with its id', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue))
  await untilData(client, ['one@example.net', 'two@example.net'])
  expect(await client.say('Subject: x\r\n\r\n..dot\r\n...\r\n\u00e9\r\n.')).toBe('250 2.0.0 queued as q1')
  expect(queue.kept[0]).toMatchObject({
    sender: 'sender@example.org',
    recipients: ['one@example.net', 'two@example.net'],
    smtputf8: false,
  })
  expect(queue.kept[0]?.data.toString()).toBe('Subject: x\r\n\r\n.dot\r\n..\r\n\u00e9\r\n')
})

test('250 waits until the queue has settled', async () => {
  let settle = (): void => {}
  const client = await connected(
    await listen(memoryQueue(() => new Promise((resolve) => (settle = resolve)))),
  )
  await untilData(client)
  const reply = client.say('x\r\n.')
  const first = await Promise.race([reply, new Promise((resolve) => setTimeout(resolve, 100, 'silence'))])
  expect(first).toBe('silence')
  settle()
  expect(await reply).toMatch(/^250 /)
})

test('EHLO names what is offered, and not what is not', async () => {
  const client = await connected(await listen(memoryQueue()))
  await client.reply()
  const reply = await client.say('EHLO client.example')
  for (const word of ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES', 'SIZE 2000000']) {
    expect(reply).toContain(word)
  }
  expect(reply).not.toMatch(/AUTH|STARTTLS|DSN/)
})

test('many messages go over one session, pipelined', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue))
  await client.reply()
  client.send('EHLO c\r\n')
  for (let i = 0; i < 20; i++) {
    client.send(`MAIL FROM:<s@example.org>\r\nRCPT TO:<u${i}@example.net>\r\nDATA\r\nmessage ${i}\r\n.\r\n`)
  }
  for (let i = 0; i < 1 + 20 * 4; i++) await client.reply()
  expect(queue.kept.map(({ data }) => data.toString())).toEqual(
    Array.from({ length: 20 }, (_, i) => `message ${i}\r\n`),
  )
})

test('long data goes to the queue as a stream, byte for byte', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue, { received: true }))
  await untilData(client)
  const lines = '..a long message in many pieces, each line with a dot\r\n'.repeat(20_000)
  expect(await client.say(`${lines}.`)).toMatch(/^250 2\.0\.0/)
  expect(queue.kept[0]?.streamed).toBe(true)
  const text = queue.kept[0]?.data.toString() ?? ''
  expect(text).toMatch(/^Received: /)
  expect(text.endsWith(lines.replaceAll('..a', '.a'))).toBe(true)
})

test('a size over the limit is refused at MAIL', async () => {
  const client = await connected(await listen(memoryQueue(), { sizeBytesMax: 1000 }))
  await client.reply()
  await client.say('EHLO c')
  expect(await client.say('MAIL FROM:<s@example.org> SIZE=1001')).toMatch(/^552 5\.3\.4 /)
  expect(await client.say('MAIL FROM:<s@example.org> SIZE=1000')).toMatch(/^250 /)
})

test.each([5000, 1_500_000])(
  'data of %d bytes over the limit is refused, and the session goes on',
  async (bytes) => {
    const queue = memoryQueue()
    const client = await connected(await listen(queue, { sizeBytesMax: bytes - 100 }))
    await untilData(client)
    expect(await client.say(`${`${'x'.repeat(98)}\r\n`.repeat(bytes / 100)}.`)).toMatch(/^552 5\.3\.4 /)
    expect(queue.kept).toHaveLength(0)
    await client.say('MAIL FROM:<s@example.org>')
    await client.say('RCPT TO:<a@example.net>')
    await client.say('DATA')
    expect(await client.say('small\r\n.')).toMatch(/^250 /)
  },
)

test('too many recipients are refused one by one, the others stay', async () => {
  const queue = memoryQueue(undefined, { dataBytesMax: 10_000, recipientCountMax: 2 })
  const client = await connected(await listen(queue))
  const replies = await untilData(client, ['a@example.net', 'b@example.net', 'c@example.net'])
  expect(replies[4]).toMatch(/^452 4\.5\.3 /)
  expect(await client.say('x\r\n.')).toMatch(/^250 /)
  expect(queue.kept[0]?.recipients).toEqual(['a@example.net', 'b@example.net'])
})

test.each(['no address', 'two@at@signs', 'a@', '@b', 'a@b\u0007c'])(
  'the recipient "%s" is refused at RCPT',
  async (recipient) => {
    const client = await connected(await listen(memoryQueue()))
    await client.reply()
    await client.say('EHLO c')
    await client.say('MAIL FROM:<s@example.org>')
    expect(await client.say(`RCPT TO:<${recipient}>`)).toMatch(/^501 5\.1\.3 /)
    expect(await client.say('DATA')).toMatch(/^503 /)
  },
)

test.each([
  ['DISK_FULL', /^452 4\.3\.1 insufficient system storage, try again later$/],
  ['QUEUE_CRASHED', /^451 4\.3\.0 local error, try again later$/],
  ['QUEUE_BUSY', /^451 4\.3\.2 local error, try again later$/],
  ['DISK_FAILED', /^451 4\.3\.0 local error, try again later$/],
  ['LINE_TOO_LONG', /^554 5\.6\.0 .*line/],
  ['NUL_IN_DATA', /^554 5\.6\.0 /],
  ['MESSAGE_TOO_LARGE', /^552 5\.3\.4 /],
  ['ADDRESS_INVALID', /^554 5\.1\.3 /],
] as const)('%s from the queue is answered with its reply', async (code, reply) => {
  const queue = memoryQueue(() =>
    Promise.reject(new WaybillError(code, 'a line about it', { path: '/secret' })),
  )
  const client = await connected(await listen(queue))
  await untilData(client)
  expect(await client.say('x\r\n.')).toMatch(reply)
})

test('a bug in the queue is 451, and told to the operator', async () => {
  const errors: Error[] = []
  const queue = memoryQueue(() => Promise.reject(new TypeError('x is not a function')))
  const client = await connected(await listen(queue, { onError: (error) => errors.push(error) }))
  await untilData(client)
  expect(await client.say('x\r\n.')).toMatch(/^451 4\.3\.0 /)
  expect(errors).toMatchObject([{ message: 'x is not a function' }])
})

test.each([100, 500_000])('a client that vanishes after %d bytes of data leaves nothing', async (bytes) => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue))
  await untilData(client)
  client.send(`${'x'.repeat(98)}\r\n`.repeat(bytes / 100))
  await new Promise((resolve) => setTimeout(resolve, 50))
  client.destroy()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(queue.kept).toHaveLength(0)
  expect(queue.submitCount).toBe(bytes > 128 << 10 ? 1 : 0)
})

test('a queue that refuses long data without reading it is heard after the final dot', async () => {
  const limits = { dataBytesMax: 2_000_000, recipientCountMax: 10 }
  const submit = async (): Promise<never> => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    throw new WaybillError('DISK_FULL', 'no room')
  }
  const client = await connected(await listen({ limits, submit }))
  await untilData(client)
  expect(await client.say(`${`${'x'.repeat(98)}\r\n`.repeat(10_000)}.`)).toMatch(/^452 4\.3\.1 /)
  expect(await client.say('NOOP')).toMatch(/^250 /)
})

test('a client that vanishes while nobody reads its long data does not stop the process', async () => {
  const limits = { dataBytesMax: 2_000_000, recipientCountMax: 10 }
  const client = await connected(await listen({ limits, submit: () => new Promise(() => {}) }))
  await untilData(client)
  client.send(`${'x'.repeat(98)}\r\n`.repeat(3000))
  await new Promise((resolve) => setTimeout(resolve, 50))
  client.destroy()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(client.socket.destroyed).toBe(true)
})

test('the Received field says who, to whom, how and when, below the limit of a line', async () => {
  const queue = memoryQueue()
  const clock = { wallMs: () => 1_763_000_000_000 } as unknown as NonNullable<SmtpServerOptions['clock']>
  const client = await connected(await listen(queue, { received: true, clock }))
  await untilData(client)
  await client.say('Subject: x\r\n\r\n.')
  expect(queue.kept[0]?.data.toString()).toMatch(
    /^Received: from client\.example \(\[127\.0\.0\.1\]\)\r\n\tby mx\.example\.net with ESMTP id \S+\r\n\tfor <one@example\.net>;\r\n\tThu, 13 Nov 2025 02:13:20 \+0000\r\nSubject: x\r\n\r\n$/,
  )
})

test('a message that has passed 51 relays is a loop', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue))
  await untilData(client)
  expect(await client.say(`${'received: from x\r\n\tby y\r\n'.repeat(51)}\r\nx\r\n.`)).toMatch(
    /^554 5\.4\.6 /,
  )
  await client.say('MAIL FROM:<s@example.org>')
  await client.say('RCPT TO:<a@example.net>')
  await client.say('DATA')
  const fifty = 'Received: from x\r\n'.repeat(50)
  expect(await client.say(`${fifty}\r\n${fifty}.`)).toMatch(/^250 /)
  expect(queue.kept).toHaveLength(1)
})

test('a relay refuses strangers each recipient, and trusts who is named', async () => {
  for (const [trust, reply] of [
    [['192.0.2.0/24'], /^554 5\.7\.1 /],
    [['127.0.0.1'], /^250 /],
  ] as const) {
    const client = await connected(await listen(memoryQueue(), { purpose: 'relay', trust, greetDelayMs: 1 }))
    await client.reply()
    await client.say('EHLO c')
    await client.say('MAIL FROM:<s@example.org>')
    expect(await client.say('RCPT TO:<a@example.net>')).toMatch(reply)
  }
})

test('local delivery takes mail from strangers', async () => {
  const client = await connected(await listen(memoryQueue(), { trust: [], greetDelayMs: 1 }))
  await untilData(client)
  expect(await client.say('x\r\n.')).toMatch(/^250 /)
})

test('a stranger who talks before the greeting is refused, a trusted client is greeted at once', async () => {
  const early = await connected(await listen(memoryQueue(), { trust: [], greetDelayMs: 100 }))
  early.send('EHLO spam\r\n')
  expect(await early.reply()).toMatch(/^421 /)
  const trusted = await connected(await listen(memoryQueue(), { greetDelayMs: 60_000 }))
  expect(await trusted.reply()).toMatch(/^220 mx\.example\.net/)
})

test('more sessions than allowed get 421', async () => {
  const listener = await listen(memoryQueue(), { sessionsMax: 1 })
  const first = await connected(listener)
  expect(await first.reply()).toMatch(/^220/)
  const second = await connected(listener)
  expect(await second.reply()).toMatch(/^421 4\.3\.2/)
})

test('a client that says nothing is let go', async () => {
  const client = await connected(await listen(memoryQueue(), { idleTimeoutMs: 50 }))
  await client.reply()
  expect(await client.reply()).toMatch(/^421 /)
  await client.closed
})

test('an address with other letters needs SMTPUTF8, a domain in its xn-- form does not', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue))
  await client.reply()
  await client.say('EHLO c')
  await client.say('MAIL FROM:<s@example.org>')
  expect(await client.say('RCPT TO:<gr\u00fcn@example.net>')).toMatch(/^553 5\.6\.7 /)
  expect(await client.say('RCPT TO:<a@xn--bcher-kva.example>')).toMatch(/^250 /)
  await client.say('DATA')
  await client.say('x\r\n.')
  await client.say('MAIL FROM:<s@example.org> SMTPUTF8')
  expect(await client.say('RCPT TO:<gr\u00fcn@example.net>')).toMatch(/^250 /)
  await client.say('DATA')
  await client.say('x\r\n.')
  expect(queue.kept).toMatchObject([
    { recipients: ['a@xn--bcher-kva.example'], smtputf8: false },
    { recipients: ['gr\u00fcn@example.net'], smtputf8: true },
  ])
})

test('the null sender is empty, and postmaster alone is the postmaster here', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue))
  await untilData(client, ['postmaster'], 'MAIL FROM:<>')
  expect(await client.say('x\r\n.')).toMatch(/^250 /)
  expect(queue.kept[0]).toMatchObject({ sender: '', recipients: ['postmaster@mx.example.net'] })
})

test('a bare line feed before a dot does not end the data', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue))
  await untilData(client)
  expect(await client.say('a\n.\nMAIL FROM:<smuggled@example.org>\r\n.')).toMatch(/^250 /)
  expect(queue.kept).toHaveLength(1)
})

test('close ends sessions in the middle of everything, and the port is free', async () => {
  const queue = memoryQueue(() => new Promise(() => {}))
  const listener = await listen(queue)
  const client = await connected(listener)
  await untilData(client)
  client.send('x\r\n.\r\n')
  listener.close()
  await client.closed
  await expect(rawClient(listener.port)).rejects.toThrow(/ECONNREFUSED/)
})

test('a port that is taken is an error, not a server', async () => {
  const listener = await listen(memoryQueue())
  await expect(listen(memoryQueue(), { port: listener.port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

test.each(['10.0.0.0/33', 'example.net', '::1/129', '10.0.0.1/x'])(
  '"%s" is no network to trust',
  async (network) => {
    await expect(listen(memoryQueue(), { trust: [network] })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
  },
)
