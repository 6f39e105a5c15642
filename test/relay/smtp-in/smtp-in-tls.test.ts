import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { listenSmtp } from '../../../src/relay/smtp-in/smtp-in.js'
import { certificate } from '../certificate.js'
import { rawClient, sendOne, untilData } from '../raw-client.js'
import { connected, encrypted, listen, listenTls, memoryQueue } from './smtp-in-fixture.js'

test('with a certificate STARTTLS is offered, and what comes after it is encrypted', async () => {
  const queue = memoryQueue()
  const plain = await connected(await listen(queue, { tls: certificate, received: true }))
  await plain.reply()
  expect(await plain.say('EHLO c.example')).toContain('STARTTLS')
  expect(await plain.say('STARTTLS')).toMatch(/^220 /)
  const client = await encrypted(plain)
  const offers = await client.say('EHLO c.example')
  expect(offers).toContain('PIPELINING')
  expect(offers).not.toMatch(/STARTTLS|REQUIRETLS|AUTH/)
  expect(await sendOne(client)).toMatch(/^250 2\.0\.0 /)
  expect(queue.kept[0]?.data.toString()).toMatch(/ with ESMTPS id /)
})

test('commands that came in plaintext with STARTTLS are not part of the encrypted session', async () => {
  const queue = memoryQueue()
  const plain = await connected(await listen(queue, { tls: certificate }))
  await plain.reply()
  await plain.say('EHLO c.example')
  plain.send('STARTTLS\r\nEHLO evil.example\r\nMAIL FROM:<evil@example.org>\r\n')
  expect(await plain.reply()).toMatch(/^220 /)
  const client = await encrypted(plain)
  expect(await client.say('NOOP')).toMatch(/^250 /)
  expect(await client.say('RCPT TO:<r@example.net>')).toMatch(/^503 /)
})

test('REQUIRETLS is not promised: MAIL with it is refused', async () => {
  const plain = await connected(await listen(memoryQueue(), { tls: certificate }))
  await plain.reply()
  await plain.say('EHLO c.example')
  await plain.say('STARTTLS')
  const client = await encrypted(plain)
  await client.say('EHLO c.example')
  expect(await client.say('MAIL FROM:<s@example.org> REQUIRETLS')).toMatch(/^550 5\.7\.30 /)
  expect(await client.say('MAIL FROM:<s@example.org>')).toMatch(/^250 /)
})

test('a client that fails the handshake hurts nobody', async () => {
  const errors: Error[] = []
  const listener = await listen(memoryQueue(), {
    tls: certificate,
    onError: (error) => void errors.push(error),
  })
  const broken = await connected(listener)
  await broken.reply()
  await broken.say('EHLO c.example')
  await broken.say('STARTTLS')
  broken.send('this is no handshake\r\n')
  await broken.closed
  expect(errors).toHaveLength(1)
  expect((await untilData(await connected(listener))).at(-1)).toMatch(/^354 /)
})

test('a stranger whose handshake comes octet by octet is disconnected, and the server lives', async () => {
  const options = { tls: certificate, trust: ['10.0.0.1'], greetDelayMs: 1, idleTimeoutMs: 200 }
  const listener = await listen(memoryQueue(), options)
  const client = await connected(listener)
  await client.reply()
  await client.say('EHLO c.example')
  await client.say('STARTTLS')
  // The head of a record of 512 octets with a ClientHello.
  client.send(Buffer.from([0x16, 3, 1, 2, 0, 1, 0]))
  const timer = setInterval(() => client.send(Buffer.from([1])), 20)
  onTestFinished(() => clearInterval(timer))
  await Promise.race([client.closed, sleep(4000)])
  expect(client.socket.destroyed).toBe(true)
  expect((await untilData(await connected(listener))).at(-1)).toMatch(/^354 /)
})

test('where a session begins with TLS the greeting comes behind the handshake, and STARTTLS is not offered', async () => {
  const queue = memoryQueue()
  const client = await encrypted(await connected(await listenTls(queue, { received: true })))
  expect(await client.reply()).toMatch(/^220 mx\.example\.net /)
  expect(await client.say('EHLO c.example')).not.toContain('STARTTLS')
  expect(await client.say('STARTTLS')).toMatch(/^503 /)
  expect(await sendOne(client)).toMatch(/^250 2\.0\.0 /)
  expect(queue.kept[0]?.data.toString()).toMatch(/ with ESMTPS id /)
})

test('where a session begins with TLS there is a certificate of its own, or no server', async () => {
  const places = [{ host: '127.0.0.1', port: 0, implicitTls: true }]
  await expect(listen(memoryQueue(), { places })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
})

test('a client that talks in plaintext where TLS is expected is disconnected, and hurts nobody', async () => {
  const errors: Error[] = []
  const listener = await listenTls(memoryQueue(), { onError: (error) => void errors.push(error) })
  const broken = await connected(listener)
  broken.send('EHLO c.example\r\n')
  await broken.closed
  expect(errors).toHaveLength(1)
  expect(await (await encrypted(await connected(listener))).reply()).toMatch(/^220 /)
})

test('a stranger without a handshake has a session, and its next one ends before a handshake', async () => {
  const listener = await listenTls(memoryQueue(), { trust: ['10.0.0.1'], sessionsPerClientMax: 1 })
  const first = await connected(listener)
  const second = await connected(listener)
  await second.closed
  expect(await second.reply()).toBe('')
  expect(await (await encrypted(first)).reply()).toMatch(/^220 /)
})

test('a stranger whose first handshake comes octet by octet is disconnected, and the server lives', async () => {
  const listener = await listenTls(memoryQueue(), {
    trust: ['10.0.0.1'],
    greetDelayMs: 1,
    idleTimeoutMs: 200,
  })
  const client = await connected(listener)
  client.send(Buffer.from([0x16, 3, 1, 2, 0, 1, 0]))
  const timer = setInterval(() => client.send(Buffer.from([1])), 20)
  onTestFinished(() => clearInterval(timer))
  await Promise.race([client.closed, sleep(4000)])
  expect(client.socket.destroyed).toBe(true)
  expect(await (await encrypted(await connected(listener))).reply()).toMatch(/^220 /)
})

test('a client that closes instead of a handshake leaves no session behind', async () => {
  const listener = await listenTls(memoryQueue(), { sessionsMax: 1 })
  for (let round = 0; round < 3; round++) {
    const client = await connected(listener)
    client.socket.end()
    await client.closed
  }
  expect(await (await encrypted(await connected(listener))).reply()).toMatch(/^220 /)
})

test('the limits of a client are for all ports together', async () => {
  const places = [
    { host: '127.0.0.1', port: 0 },
    { host: '127.0.0.1', port: 0 },
  ]
  const { ports, close } = await listenSmtp(memoryQueue(), {
    places,
    purpose: 'local',
    trust: ['10.0.0.1'],
    greetDelayMs: 1,
    sessionsPerClientMax: 1,
  })
  onTestFinished(close)
  const first = await rawClient(ports[0]!.port)
  expect(await first.reply()).toMatch(/^220 /)
  const second = await rawClient(ports[1]!.port)
  expect(await second.reply()).toMatch(/^421 4\.7\.0 /)
})
