import { expect, test } from 'vitest'
import type { SmtpServerOptions } from '../../../src/relay/smtp-in/smtp-in.js'
import { rawClient, untilData, type RawClient } from '../raw-client.js'
import { connected, listen, memoryQueue } from './smtp-in-fixture.js'

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
  expect(reply).not.toMatch(/AUTH|STARTTLS/)
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

test('the Received field says the client, the recipient, how and when, below the limit of a line', async () => {
  const queue = memoryQueue()
  const clock = { wallMs: () => 1_763_000_000_000 } as unknown as NonNullable<SmtpServerOptions['clock']>
  const client = await connected(await listen(queue, { received: true, clock }))
  await untilData(client)
  await client.say('Subject: x\r\n\r\n.')
  expect(queue.kept[0]?.data.toString()).toMatch(
    /^Received: from client\.example \(\[127\.0\.0\.1\]\)\r\n\tby mx\.example\.net with ESMTP id [0-9A-Z]{16}\r\n\tfor <one@example\.net>;\r\n\tThu, 13 Nov 2025 02:13:20 \+0000\r\nSubject: x\r\n\r\n$/,
  )
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

test('an address that is no UTF-8 is refused, not taken for another one', async () => {
  const client = await connected(await listen(memoryQueue()))
  await client.reply()
  await client.say('EHLO c')
  await client.say('MAIL FROM:<s@example.org> SMTPUTF8')
  client.send(Buffer.from('RCPT TO:<gr\u00fcn@example.net>\r\n', 'latin1'))
  expect(await client.reply()).toMatch(/^501 5\.1\.3 /)
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
  const { host, port } = await listen(memoryQueue())
  const places = [
    { host, port: 0 },
    { host, port },
  ]
  await expect(listen(memoryQueue(), { places })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

/** What happens, within a time, to a client that says one thing more after the server has closed
 * its side. */
async function oneMoreByte(client: RawClient, withinMs: number): Promise<string> {
  const reset = new Promise<string>((resolve) => client.socket.once('error', () => resolve('reset')))
  client.send('x')
  await new Promise((resolve) => setTimeout(resolve, 50))
  client.send('x')
  return Promise.race([reset, new Promise<string>((resolve) => setTimeout(resolve, withinMs, 'taken'))])
}

test('a client that has waited for its replies is disconnected with the goodbye', async () => {
  const client = await connected(await listen(memoryQueue()), { allowHalfOpen: true })
  await untilData(client)
  await client.say('x\r\n.')
  expect(await client.say('QUIT')).toMatch(/^221 /)
  // Less than the five seconds for which smtp-server waits for a client's side.
  expect(await oneMoreByte(client, 4000)).toBe('reset')
})

test('a client that says all at once is waited for: a reset would take replies that it has not read', async () => {
  const client = await connected(await listen(memoryQueue()), { allowHalfOpen: true })
  await untilData(client)
  client.send('x\r\n.\r\nQUIT\r\n')
  expect([await client.reply(), await client.reply()]).toEqual([
    '250 2.0.0 queued as q1',
    expect.stringMatching(/^221 /),
  ])
  expect(await oneMoreByte(client, 300)).toBe('taken')
})
