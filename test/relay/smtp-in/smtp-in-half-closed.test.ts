/** Clients that say all they have to say, end their side, and wait for the answers:
 * `printf … | nc -N`. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { certificate } from '../certificate.js'
import { clientOn, type RawClient } from '../raw-client.js'
import { connected, listen, memoryQueue } from './smtp-in-fixture.js'

const mail = 'MAIL FROM:<s@example.org>\r\nRCPT TO:<r@example.net>\r\nDATA\r\nSubject: x\r\n\r\nbody\r\n'

/** All that the server says until it closes, which it does sooner than smtp-server, which waits
 * for five seconds. */
async function rest(client: RawClient): Promise<string> {
  expect(await Promise.race([client.closed.then(() => 'closed'), sleep(4000, 'open')])).toBe('closed')
  let said = ''
  for (let reply = await client.reply(); reply !== ''; reply = await client.reply()) said += `${reply}\n`
  return said
}

test.each([
  ['ends with the dot', '.\r\n', /\n354 .*\n250 2\.0\.0 queued as q1\n$/],
  ['ends with QUIT', '.\r\nQUIT\r\n', /\n354 .*\n250 2\.0\.0 queued as q1\n221 .*\n$/],
  ['ends with a line that has no end', '.\r\nNOOP', /\n354 .*\n250 2\.0\.0 queued as q1\n250 .*\n$/],
])('a client that %s and ends its side hears what became of its message', async (_, end, said) => {
  const queue = memoryQueue(() => sleep(100))
  const client = await connected(await listen(queue), { allowHalfOpen: true })
  client.socket.end(`EHLO c\r\n${mail}${end}`)
  expect(await rest(client)).toMatch(said)
  expect(queue.kept.map(({ data }) => data.toString())).toEqual(['Subject: x\r\n\r\nbody\r\n'])
})

test('a client that ends its lines with LF alone is served as one that has CR LF', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue), { allowHalfOpen: true })
  client.socket.end(`EHLO c\r\n${mail}..x\r\n.\r\n${mail}.\r\nQUIT\r\n`.replaceAll('\r', ''))
  expect(await rest(client)).toMatch(/\n354 .*\n250 .* q1\n250 .*\n250 .*\n354 .*\n250 .* q2\n221 .*\n$/)
  const body = 'Subject: x\r\n\r\nbody\r\n'
  expect(queue.kept.map(({ data }) => data.toString())).toEqual([`${body}.x\r\n`, body])
})

test('a client that ends its side in the middle of a message leaves nothing, and no session', async () => {
  const queue = memoryQueue()
  const listener = await listen(queue, { sessionsMax: 1 })
  const client = await connected(listener, { allowHalfOpen: true })
  client.socket.end(`EHLO c\r\n${mail}`)
  expect(await rest(client)).toMatch(/\n354 .*\n$/)
  expect(queue.submitCount).toBe(0)
  expect(await (await connected(listener)).reply()).toMatch(/^220 /)
})

test('a client that ends its side when it has nothing to say is disconnected', async () => {
  const client = await connected(await listen(memoryQueue()), { allowHalfOpen: true })
  await client.reply()
  client.socket.end()
  expect(await rest(client)).toBe('')
})

test('a client that ends its encrypted side hears what became of its message', async () => {
  const queue = memoryQueue(() => sleep(100))
  const { plain, listener } = await beforeHandshake(queue)
  const socket = connect({ socket: plain.socket, ca: certificate.cert, host: 'localhost' })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  const client = clientOn(socket)
  socket.allowHalfOpen = true
  socket.end(`EHLO c\r\n${mail}.\r\n`)
  expect(await rest(client)).toMatch(/\n354 .*\n250 2\.0\.0 queued as q1\n$/)
  expect(await (await connected(listener)).reply()).toMatch(/^220 /)
})

test('a client that ends its side instead of a handshake is disconnected', async () => {
  const { plain, listener } = await beforeHandshake(memoryQueue())
  plain.socket.end()
  await rest(plain)
  expect(await (await connected(listener)).reply()).toMatch(/^220 /)
})

async function beforeHandshake(queue: ReturnType<typeof memoryQueue>) {
  const listener = await listen(queue, { tls: certificate, sessionsMax: 1 })
  const plain = await connected(listener, { allowHalfOpen: true })
  await plain.reply()
  await plain.say('EHLO c')
  expect(await plain.say('STARTTLS')).toMatch(/^220 /)
  plain.socket.removeAllListeners('data')
  return { plain, listener }
}

test.each(['destroy', 'resetAndDestroy'] as const)(
  'a client that leaves altogether behind its message (%s) hurts nobody',
  async (leave) => {
    const errors: Error[] = []
    const queue = memoryQueue(() => sleep(100))
    const listener = await listen(queue, { sessionsMax: 1, onError: (error) => void errors.push(error) })
    const client = await connected(listener)
    await client.reply()
    await client.say('EHLO c')
    client.send(`${mail}.\r\nQUIT\r\n`)
    await expect.poll(() => queue.submitCount).toBe(1)
    client.socket[leave]()
    await expect
      .poll(async () => {
        const next = await connected(listener)
        const greeting = await next.reply()
        next.destroy()
        return greeting
      })
      .toMatch(/^220 /)
    expect(errors.length).toBeLessThan(2)
  },
)
