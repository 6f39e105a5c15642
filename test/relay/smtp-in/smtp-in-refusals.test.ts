import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { WaybillError } from '../../../src/errors.js'
import type { Refusal } from '../../../src/relay/smtp-in/smtp-in.js'
import { greetedClient, untilData, type RawClient } from '../raw-client.js'
import { connected, listen, memoryQueue } from './smtp-in-fixture.js'

test('a size over the limit is refused at MAIL', async () => {
  const client = await connected(await listen(memoryQueue(), { sizeBytesMax: 1000 }))
  await client.reply()
  await client.say('EHLO c')
  expect(await client.say('MAIL FROM:<s@example.org> SIZE=1001')).toMatch(/^552 5\.3\.4 /)
  expect(await client.say('MAIL FROM:<s@example.org> SIZE=1000')).toMatch(/^250 /)
})

test('a parameter that nobody offered is refused, and those that were offered are taken', async () => {
  const client = await connected(await listen(memoryQueue()))
  await client.reply()
  await client.say('EHLO c')
  const mail = 'MAIL FROM:<s@example.org>'
  for (const name of ['CONPERM', 'NOTIFY', '__PROTO__'])
    expect(await client.say(`${mail} ${name}=3`)).toBe(`555 5.5.4 unsupported parameter: ${name}`)
  expect(await client.say(`${mail} SIZE=10 BODY=8BITMIME SMTPUTF8 AUTH=<>`)).toMatch(/^250 /)
  for (const name of ['RET=FULL', 'SIZE=10'])
    expect(await client.say(`RCPT TO:<a@example.net> ${name}`)).toMatch(/^555 5\.5\.4 /)
  expect(await client.say('RCPT TO:<a@example.net>')).toMatch(/^250 /)
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
  const refusals: Refusal[] = []
  const queue = memoryQueue()
  const listener = await listen(queue, { onRefusal: (refusal) => void refusals.push(refusal) })
  const client = await connected(listener)
  await untilData(client)
  client.send(`${'x'.repeat(98)}\r\n`.repeat(bytes / 100))
  const submitCount = bytes > 128 << 10 ? 1 : 0
  await expect.poll(() => queue.submitCount).toBe(submitCount)
  client.destroy()
  await expect.poll(() => refusals).toHaveLength(1)
  expect(queue.kept).toHaveLength(0)
  expect(queue.submitCount).toBe(submitCount)
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

test('a client that vanishes in the middle of its data is told of as that, and not as an error of ours', async () => {
  const refusals: Refusal[] = []
  const port = await listen(memoryQueue(), { onRefusal: (refusal) => void refusals.push(refusal) })
  const client = await connected(port)
  await untilData(client)
  client.send('half of it')
  await sleep(50)
  client.destroy()
  await expect.poll(() => refusals).toHaveLength(1)
  expect(refusals).toMatchObject([
    { recipient: undefined, reply: '4.3.0 the client vanished before the final dot' },
  ])
})

test('a client that vanishes while nobody reads its long data does not stop the process', async () => {
  const queue = memoryQueue(() => new Promise(() => {}))
  const listener = await listen(queue)
  const client = await connected(listener)
  await untilData(client)
  client.send(`${'x'.repeat(98)}\r\n`.repeat(3000))
  await expect.poll(() => queue.submitCount).toBe(1)
  client.destroy()
  await client.closed
  expect(await (await connected(listener)).reply()).toMatch(/^220 /)
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

const addressHere = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.internal === false && address.family === 'IPv4')?.address

test.skipIf(addressHere === undefined).each([
  [undefined, /^250 /],
  [['127.0.0.1'], /^554 5\.7\.1 /],
])(
  'a client that connects from an address of this machine to the same may relay, unless %s is named',
  async (trust, reply) => {
    const host = addressHere!
    const listener = await listen(memoryQueue(), {
      places: [{ host, port: 0 }],
      purpose: 'relay',
      greetDelayMs: 1,
      ...(trust === undefined ? undefined : { trust }),
    })
    const client = await greetedClient(listener.port, host)
    await client.say('MAIL FROM:<s@example.org>')
    expect(await client.say('RCPT TO:<a@example.net>')).toMatch(reply)
  },
)

/** It gives way to nobody from here on. */
async function begun(client: RawClient): Promise<RawClient> {
  expect(await client.reply()).toMatch(/^220/)
  await client.say('EHLO c.example')
  expect(await client.say('MAIL FROM:<s@example.org>')).toMatch(/^250/)
  return client
}

test('more sessions than allowed get 421', async () => {
  const listener = await listen(memoryQueue(), { sessionsMax: 1 })
  await begun(await connected(listener))
  const second = await connected(listener)
  expect(await second.reply()).toMatch(/^421 4\.3\.2/)
})

test('a client that leaves without its reply holds its place until its message is decided', async () => {
  const decisions: (() => void)[] = []
  const queue = memoryQueue(() => new Promise((resolve) => decisions.push(resolve)))
  const listener = await listen(queue, { sessionsMax: 2 })
  for (let i = 1; i <= 2; i++) {
    const client = await connected(listener)
    await untilData(client)
    client.send('x\r\n.\r\n')
    await expect.poll(() => queue.submitCount).toBe(i)
    client.socket.resetAndDestroy()
  }
  for (let i = 0; i < 5; i++) expect(await (await connected(listener)).reply()).toMatch(/^421 4\.3\.2/)
  decisions[0]!()
  await expect.poll(async () => (await connected(listener)).reply()).toMatch(/^220/)
})

test('strangers together have so many sessions at once, and take none from trusted clients', async () => {
  const options = { trust: ['127.0.0.1'], sessionsMax: 2, greetDelayMs: 1 }
  const listener = await listen(memoryQueue(), options)
  const from = (localAddress: string) => connected(listener, { localAddress })
  for (const address of ['127.0.0.2', '127.0.0.3']) await begun(await from(address))
  expect(await (await from('127.0.0.4')).reply()).toMatch(/^421 4\.3\.2/)
  for (let i = 0; i < 2; i++) await begun(await from('127.0.0.1'))
  expect(await (await from('127.0.0.1')).reply()).toMatch(/^421 4\.3\.2/)
})

/** Less than the five seconds for which smtp-server waits for a client's side. */
const lingersMs = 4000

test('a client that is turned away, and does not leave, is not waited for', async () => {
  const listener = await listen(memoryQueue(), { sessionsMax: 1 })
  await begun(await connected(listener))
  const second = await connected(listener, { allowHalfOpen: true })
  expect(await second.reply()).toMatch(/^421 /)
  const timer = setInterval(() => second.send('x'), 10)
  onTestFinished(() => clearInterval(timer))
  await Promise.race([second.closed, sleep(lingersMs)])
  expect(second.socket.destroyed).toBe(true)
})

test('a client that has said QUIT and does not leave still counts, and close drops it', async () => {
  const listener = await listen(memoryQueue(), { sessionsMax: 1 })
  const first = await connected(listener, { allowHalfOpen: true })
  first.send('EHLO c\r\nQUIT\r\n')
  await first.reply()
  await first.reply()
  expect(await first.reply()).toMatch(/^221 /)
  expect(await (await connected(listener)).reply()).toMatch(/^421 /)
  listener.close()
  const timer = setInterval(() => first.send('x'), 10)
  onTestFinished(() => clearInterval(timer))
  await Promise.race([first.closed, sleep(lingersMs)])
  expect(first.socket.destroyed).toBe(true)
})

test('a stranger has so many sessions at once and no more, a trusted client as many as there are', async () => {
  const options = { trust: ['127.0.0.2'], sessionsPerClientMax: 2, greetDelayMs: 1 }
  const listener = await listen(memoryQueue(), options)
  const strangers = [await connected(listener), await connected(listener), await connected(listener)]
  expect(await strangers[0]!.reply()).toMatch(/^220/)
  expect(await strangers[1]!.reply()).toMatch(/^220/)
  expect(await strangers[2]!.reply()).toMatch(/^421 4\.7\.0 .*127\.0\.0\.1/)
  await strangers[2]!.closed
  const trusted = { localAddress: '127.0.0.2' }
  for (let i = 0; i < 3; i++) expect(await (await connected(listener, trusted)).reply()).toMatch(/^220/)
  await strangers[0]!.say('QUIT')
  await strangers[0]!.closed
  expect(await (await connected(listener)).reply()).toMatch(/^220/)
})

test.each([
  ['a stranger who is refused again and again is turned away', '10.0.0.1', 21, /^421 4\.7\.0 /],
  ['who is trusted is not', '127.0.0.1', 40, /^501 5\.1\.3 /],
])('%s', async (_, trusted, count, says) => {
  const listener = await listen(memoryQueue(), { trust: [trusted], greetDelayMs: 1 })
  const client = await connected(listener)
  const replies = await untilData(client)
  expect(replies.at(-1)).toMatch(/^354/)
  await client.say('x\r\n.')
  await client.say('MAIL FROM:<s@example.org>')
  let last = ''
  for (let i = 0; i < count; i++) last = await client.say('RCPT TO:<no@address@example.net>')
  expect(last).toMatch(says)
})

test('a client that says nothing is disconnected', async () => {
  const client = await connected(await listen(memoryQueue(), { idleTimeoutMs: 50 }))
  await client.reply()
  expect(await client.reply()).toMatch(/^421 /)
  await client.closed
})

test.each(['10.0.0.0/33', 'example.net', '::1/129', '10.0.0.1/x'])(
  '"%s" is no network to trust',
  async (network) => {
    await expect(listen(memoryQueue(), { trust: [network] })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
  },
)

test('what a refused MAIL has said is not said by the next one', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue))
  await client.reply()
  await client.say('EHLO c')
  expect(await client.say('MAIL FROM:<a(b@example.org> SMTPUTF8')).toMatch(/^501 /)
  await client.say('MAIL FROM:<s@example.org>')
  expect(await client.say('RCPT TO:<\u00e9@example.net>')).toMatch(/^553 5\.6\.7 /)
  await client.say('RCPT TO:<r@example.net>')
  await client.say('DATA')
  await client.say('x\r\n.')
  expect(queue.kept).toMatchObject([{ recipients: ['r@example.net'], smtputf8: false }])
})

/** Sends a piece every 20 ms until the server closes, or until so many were sent.
 * @returns what the server has said by the time it closed; undefined when it did not */
async function trickled(client: RawClient, piece: string, countMax = Infinity): Promise<string | undefined> {
  let isClosed = false
  const closed = client.closed.then(() => (isClosed = true))
  for (let count = 0; count < countMax && !isClosed; count++) {
    client.send(piece)
    await Promise.race([closed, sleep(20)])
  }
  return isClosed ? client.reply() : undefined
}

const slow = { trust: ['10.0.0.1'], greetDelayMs: 1, idleTimeoutMs: 200 }

test('a stranger who never ends a line is disconnected, as if silent', async () => {
  const client = await connected(await listen(memoryQueue(), slow))
  await client.reply()
  expect(await trickled(client, 'N')).toMatch(/^421 4\.4\.2 /)
})

test('a stranger who sends a message octet by octet is disconnected, and nothing of it is kept', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue, slow))
  await untilData(client)
  expect(await trickled(client, 'x')).toMatch(/^421 4\.4\.2 /)
  expect(queue.submitCount).toBe(0)
})

test('a stranger who sends a message at 5000 octets a second is heard to its end', async () => {
  // Five times as long as a client may be silent.
  const client = await connected(await listen(memoryQueue(), { ...slow, idleTimeoutMs: 1000 }))
  await untilData(client)
  expect(await trickled(client, `${'x'.repeat(98)}\r\n`, 250)).toBeUndefined()
  expect(await client.say('\r\n.')).toMatch(/^250 /)
})

test('a queue that takes its time is not the fault of a stranger', async () => {
  const client = await connected(
    await listen(
      memoryQueue(() => sleep(600)),
      slow,
    ),
  )
  await untilData(client)
  expect(await client.say('x\r\n.')).toMatch(/^250 /)
})

test.each([
  ['may be slow', 4, 250, undefined],
  [
    'may not when half of the places are taken',
    1,
    Infinity,
    expect.stringMatching(/^421 4\.4\.2 /) as string,
  ],
])('a trusted client %s', async (_, sessionsMax, countMax, says) => {
  const client = await connected(await listen(memoryQueue(), { idleTimeoutMs: 1000, sessionsMax }))
  await client.reply()
  expect(await trickled(client, 'N', countMax)).toEqual(says)
})

test('a client that comes right behind those that take all places waits until one is idle', async () => {
  const listener = await listen(memoryQueue(), { sessionsMax: 3 })
  const silent = await Promise.all([1, 2, 3].map(() => connected(listener)))
  for (const client of silent) expect(await client.reply()).toMatch(/^220 /)
  expect(await (await connected(listener)).reply()).toMatch(/^220 /)
  expect(await silent[0]!.reply()).toMatch(/^421 4\.3\.2 .*idle/)
})

test('when all places are taken, the one who has been silent for longest gives way', async () => {
  const listener = await listen(memoryQueue(), { sessionsMax: 3, greetDelayMs: 0 })
  const silent: RawClient[] = []
  for (let i = 0; i < 3; i++) {
    const client = await connected(listener)
    expect(await client.reply()).toMatch(/^220 /)
    silent.push(client)
  }
  // One that has begun a message keeps its place.
  await silent[0]!.say('EHLO c.example')
  await silent[0]!.say('MAIL FROM:<s@example.org>')
  await expect
    .poll(async () => {
      const another = await connected(listener)
      return (await another.reply()).slice(0, 3)
    })
    .toBe('220')
  expect(await silent[1]!.reply()).toMatch(/^421 4\.3\.2 .*idle/)
  expect(await silent[0]!.say('RCPT TO:<r@example.net>')).toMatch(/^250 /)
})
