/** Clients that take more than their share. */
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { httpStage, type HttpStage } from './stage.js'

async function connected(stage: HttpStage): Promise<Socket> {
  const socket = connect(stage.listener.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('connect', resolve))
  return socket
}

/** All that it hears until it is dropped. */
async function heard(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}

const get = (stage: HttpStage, path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${stage.token('read')}\r\n\r\n`

test('one connection too many takes the place of the idlest', async () => {
  const stage = await httpStage({ clientCountMax: 3 })
  const first = await connected(stage)
  const dropped = heard(first)
  const busy = await connected(stage)
  busy.write(get(stage, '/v1/queue/stream'))
  await new Promise((resolve) => busy.once('data', resolve))
  await connected(stage)
  expect(await stage.json('read', '/v1/session')).toMatchObject({ name: 'read' })
  expect(await dropped).toBe('')
  expect(busy.destroyed).toBe(false)
})

test('a client that does not wait for its answer is dropped', async () => {
  const stage = await httpStage()
  const socket = await connected(stage)
  const all = heard(socket)
  socket.write(get(stage, '/v1/queue/stream') + get(stage, '/v1/queue').repeat(50))
  expect(await all).not.toContain('"totals":{"accepted":1')
  expect((await stage.json('read', '/v1/session')).code).toBeUndefined()
})

test('a header that is too large is refused', async () => {
  const socket = await connected(await httpStage())
  const answer = heard(socket)
  socket.write(`GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)
  expect(await answer).toMatch(/^HTTP\/1\.1 431 [^]*"code":"HEADER_TOO_LARGE"/)
})

test('a client whose header never ends is dropped', async () => {
  const socket = await connected(await httpStage({ idleMs: 200 }))
  const answer = heard(socket)
  socket.write('GET / HTTP/1.1\r\nX: ')
  // Node, which answers, and the bound for idle clients come at once.
  expect(await answer).toMatch(/^(?:$|HTTP\/1\.1 408 [^]*"code":"REQUEST_TOO_SLOW")/)
})

test('a body without a token is not read, and one too large is refused by its length', async () => {
  const stage = await httpStage()
  const post = async (token: string): Promise<string> => {
    const socket = await connected(stage)
    const first = new Promise<string>((resolve) =>
      socket.once('data', (piece: Buffer) => resolve(piece.toString())),
    )
    socket.write(
      `POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n{',
    )
    return (await first).slice(0, 12)
  }
  expect(await post('none')).toBe('HTTP/1.1 401')
  expect(await post(stage.token('submit'))).toBe('HTTP/1.1 413')
})

test('event streams have a bound, and the clients that have one keep it', async () => {
  const stage = await httpStage()
  const open = async (): Promise<Response> => stage.ask('read', '/v1/queue/stream?intervalMs=60000')
  const streams: Response[] = []
  for (let i = 0; i < 64; i++) streams.push(await open())
  const refused = await open()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  await streams[0]!.body!.cancel()
  await stage.until(async () => {
    const again = await open()
    if (again.status !== 200) return false
    await again.body!.cancel()
    return true
  })
  for (const stream of streams.slice(1)) await stream.body!.cancel()
})

test('a body that is sent to a path where nothing is waits for no reader', async () => {
  const stage = await httpStage()
  const socket = await connected(stage)
  const answer = heard(socket)
  socket.write(
    'POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n[',
  )
  await new Promise((resolve) => socket.once('data', resolve))
  socket.destroy()
  expect(await answer).toMatch(/^HTTP\/1\.1 404 /)
})
