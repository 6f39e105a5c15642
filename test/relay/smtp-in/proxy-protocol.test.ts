/** Clients that come through a balancer, which names them. */
import { connect, createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { codesTo, denied, rawClient, sendTo, taken, type RawClient } from '../raw-client.js'
import { connected, encrypted, listen, listenTls, memoryQueue } from './smtp-in-fixture.js'

const proxyProtocol = ['127.0.0.1']

/** Behind the greeting and EHLO. */
async function through(port: number, line: string): Promise<RawClient> {
  const client = await rawClient(port)
  client.send(`${line}\r\n`)
  await client.reply()
  await client.say('EHLO c.example')
  return client
}

test('what a client may do, and its trace, are those of the address that the balancer names', async () => {
  const queue = memoryQueue()
  const { port } = await listen(queue, {
    proxyProtocol,
    purpose: 'relay',
    trust: ['127.0.0.0/8', '192.0.2.0/24'],
    received: true,
  })
  const trusted = await through(port, 'PROXY TCP4 192.0.2.7 127.0.0.1 50000 25')
  expect(await sendTo(trusted, ['ada@example.org'])).toEqual([taken])
  expect(queue.kept[0]?.data.toString()).toMatch(/^Received: from c\.example \(\[192\.0\.2\.7\]\)/)
  const stranger = await through(port, 'PROXY TCP6 2001:db8::7 ::1 50000 25')
  await stranger.say('MAIL FROM:<a@example.net>')
  expect(await codesTo(stranger, ['<ada@example.org>'])).toEqual([denied])
})

test('sessions are counted by the client, and of what is no balancer no line is expected', async () => {
  const listener = await listen(memoryQueue(), {
    proxyProtocol,
    trust: ['10.0.0.1'],
    sessionsPerClientMax: 1,
    greetDelayMs: 1,
  })
  const said = async (address: string): Promise<string> => {
    const client = await connected(listener)
    client.send(`PROXY TCP4 ${address} 127.0.0.1 50000 25\r\n`)
    return client.reply()
  }
  expect(await said('192.0.2.1')).toMatch(/^220 /)
  expect(await said('192.0.2.2')).toMatch(/^220 /)
  expect(await said('192.0.2.1')).toMatch(/^421 4\.7\.0 .*192\.0\.2\.1/)
  expect(await (await connected(listener, { localAddress: '127.0.0.2' })).reply()).toMatch(/^220 /)
})

test('a handshake may come in the same packet as the line', async () => {
  const queue = memoryQueue()
  const { port } = await listenTls(queue, { proxyProtocol, received: true })
  const balancer = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    client.once('data', (hello: Buffer) => {
      server.write(Buffer.concat([Buffer.from('PROXY TCP4 192.0.2.9 127.0.0.1 50000 465\r\n'), hello]))
      client.pipe(server)
    })
    server.pipe(client)
    for (const socket of [client, server]) socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => balancer.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void balancer.close())
  const client = await encrypted(await rawClient((balancer.address() as AddressInfo).port))
  await client.reply()
  await client.say('EHLO c.example')
  expect(await sendTo(client, ['ada@example.org'])).toEqual([taken])
  expect(queue.kept[0]?.data.toString()).toMatch(/^Received: from c\.example \(\[192\.0\.2\.9\]\)/)
})

test.each([
  ['another line', 'EHLO c.example\r\n'],
  ['no address', 'PROXY TCP4 nowhere 127.0.0.1 50000 25\r\n'],
  ['version 2', Buffer.from('0d0a0d0a000d0a515549540a', 'hex')],
  ['a line without an end', 'P'.repeat(2000)],
])('a balancer that says something else is told of, and has no session: %s', async (_, line) => {
  const errors: string[] = []
  const listener = await listen(memoryQueue(), {
    proxyProtocol,
    onError: ({ message }) => void errors.push(message),
  })
  const client = await connected(listener)
  client.send(line)
  expect(await client.reply()).not.toMatch(/^220/)
  await client.closed
  await expect.poll(() => errors).toEqual([expect.stringContaining('no line PROXY from 127.0.0.1: ')])
})

test('a balancer that only looks whether the port is open is not told of', async () => {
  const errors: Error[] = []
  const listener = await listen(memoryQueue(), { proxyProtocol, onError: (error) => void errors.push(error) })
  const look = await connected(listener)
  look.socket.end()
  await look.closed
  expect(await (await connected(listener, { localAddress: '127.0.0.2' })).reply()).toMatch(/^220 /)
  expect(errors).toEqual([])
})

test('a balancer that has not named the client is dropped with the ports', async () => {
  const queue = memoryQueue()
  const listener = await listen(queue, { proxyProtocol })
  const client = await connected(listener)
  listener.close()
  client.send('PROXY TCP4 192.0.2.1 127.0.0.1 50000 25\r\nEHLO c.example\r\n')
  expect(await client.reply()).toBe('')
  await client.closed
})

test('a balancer that does not name the client in time is told of, and disconnected', async () => {
  const errors: string[] = []
  const listener = await listen(memoryQueue(), {
    proxyProtocol,
    idleTimeoutMs: 50,
    onError: ({ message }) => void errors.push(message),
  })
  const client = await connected(listener)
  await client.closed
  await expect.poll(() => errors).toEqual([expect.stringContaining('no line PROXY from 127.0.0.1: ')])
})
