import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { PassThrough, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SMTPServerOptions } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import { SessionServer } from '../../../src/relay/smtp-in/session-server.js'
import { certificate } from '../certificate.js'
import { rawClient, untilData, type RawClient } from '../raw-client.js'
import { listenSmtp } from '../../../src/relay/smtp-in/smtp-in.js'
import { encrypted, memoryQueue } from './smtp-in-fixture.js'
import { base64 } from '../tables/users-fixture.js'

/** A server that takes each client for a given one. */
async function clientsFrom(
  sessionsMax: number,
  options: SMTPServerOptions = { hideSTARTTLS: true },
): Promise<(address: string) => Promise<RawClient>> {
  const sessions = new SessionServer(
    { authOptional: true, logger: false, disableReverseLookup: true, ...options },
    () => ({
      greetDelayMs: 0,
      sessionsMax,
    }),
  )
  const addresses: string[] = []
  const server = createServer((socket) => sessions.connect(socket, { remoteAddress: addresses.shift()! }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    sessions.abandon()
    server.close()
  })
  return async (address) => {
    addresses.push(address)
    return rawClient((server.address() as AddressInfo).port)
  }
}

test('the addresses of one IPv6 network have their sessions together, those of two do not', async () => {
  const from = await clientsFrom(2)
  for (const address of [
    '2001:db8:0:1::1',
    '2001:db8:0:1:ffff::2',
    '2001:db8:0:2::1',
    '192.0.2.1',
    '192.0.2.2',
  ])
    expect(await (await from(address)).reply()).toMatch(/^220 /)
  expect(await (await from('2001:db8:0:1:2:3:4:5')).reply()).toMatch(
    /^421 4\.7\.0 .* too many sessions from 2001:db8:0:1::\/64,/,
  )
  expect(await (await from('192.0.2.1')).reply()).toMatch(/^220 /)
})

test('a client whose lines begin with dots is held back like any other while nobody reads its message', async () => {
  const lineCount = 300_000
  let data: Readable | undefined
  let takenBytes = 0
  const sessions = new SessionServer(
    {
      authOptional: true,
      hideSTARTTLS: true,
      logger: false,
      disableReverseLookup: true,
      onData: (stream, _session, done) => {
        data = stream.on('end', () => done())
      },
    },
    () => ({ greetDelayMs: 0, sessionsMax: 1 }),
  )
  let socket: Socket | undefined
  const server = createServer((connected) => {
    socket = connected
    sessions.connect(connected, { remoteAddress: '192.0.2.1' })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    sessions.abandon()
    server.close()
  })
  const client = await rawClient((server.address() as AddressInfo).port)
  await client.reply()
  for (const line of ['EHLO client.test', 'MAIL FROM:<a@b.test>', 'RCPT TO:<c@d.test>', 'DATA'])
    await client.say(line)
  client.send('..\r\n'.repeat(lineCount))
  client.send('.\r\n')
  // Until the server reads no more.
  for (let before = -1; before !== socket!.bytesRead;) {
    before = socket!.bytesRead
    await sleep(300)
  }
  expect(data!.readableLength + (data as PassThrough).writableLength).toBeLessThan(400_000)
  data!.on('data', (piece: Buffer) => (takenBytes += piece.length))
  expect(await client.reply()).toMatch(/^250 /)
  expect(takenBytes).toBe(3 * lineCount)
})

test('a client that leaves while its password is looked at holds its place until it is decided', async () => {
  let decide: (() => void) | undefined
  const from = await clientsFrom(1, {
    ...certificate,
    onAuth: (_auth, _session, done) => {
      decide = () => done(null, { user: 'ada' })
    },
  })
  const plain = await from('192.0.2.1')
  await plain.reply()
  await plain.say('EHLO c.example')
  await plain.say('STARTTLS')
  const client = await encrypted(plain)
  await client.say('EHLO c.example')
  client.send(`AUTH PLAIN ${base64('\0ada\0secret')}\r\n`)
  await expect.poll(() => decide).toBeDefined()
  plain.socket.resetAndDestroy()
  for (let i = 0; i < 5; i++) expect(await (await from('192.0.2.1')).reply()).toMatch(/^421 4\.7\.0/)
  decide!()
  await expect.poll(async () => (await from('192.0.2.1')).reply()).toMatch(/^220/)
})

test('at the end of the relay a message that has come is answered, and every client hears that it ends', async () => {
  let settle = (): void => undefined
  const settled = new Promise<void>((resolve) => (settle = resolve))
  const queue = memoryQueue(() => settled)
  const { ports, leave, close } = await listenSmtp(queue, {
    places: [{ host: '127.0.0.1', port: 0 }],
    purpose: 'local',
    hostname: 'mx.example.net',
  })
  onTestFinished(close)
  const client = (): Promise<RawClient> => rawClient(ports[0]!.port)
  const [idle, within, whole] = [await client(), await client(), await client()]
  await untilData(whole, ['grace@example.net'])
  whole.send('Subject: whole\r\n\r\nx\r\n.\r\n')
  await expect.poll(() => queue.submitCount).toBe(1)
  expect(await idle.reply()).toMatch(/^220 /)
  await untilData(within, ['grace@example.net'])
  within.send('Subject: half\r\n')
  let hasLeft = false
  const left = leave().then(() => (hasLeft = true))
  const shutting = /^421 4\.3\.2 mx\.example\.net is shutting down, try again later$/
  for (const other of [idle, within]) {
    expect(await other.reply()).toMatch(shutting)
    await other.closed
  }
  expect(hasLeft).toBe(false)
  settle()
  expect(await whole.reply()).toMatch(/^250 .* queued as q1$/)
  expect(await whole.reply()).toMatch(shutting)
  await whole.closed
  await left
  expect(queue.kept).toHaveLength(1)
  await expect(rawClient(ports[0]!.port)).rejects.toThrow('ECONNREFUSED')
})
