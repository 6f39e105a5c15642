/** The port of metrics: its answers, and the clients that it disconnects. */
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { Listener } from '../../src/relay/listening.js'
import { listenMetrics, type MetricsOptions, type MetricsSource } from '../../src/relay/metrics-listener.js'

const source: MetricsSource = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  metrics: () => Promise.resolve('waybill_up 1\n'),
  isAlive: () => true,
}

async function listen(
  more: Partial<MetricsSource> = {},
  options: Partial<MetricsOptions> = {},
): Promise<Listener> {
  const listener = await listenMetrics({ ...source, ...more }, { host: '127.0.0.1', port: 0, ...options })
  onTestFinished(() => listener.close())
  return listener
}

const ask = (listener: Listener, path: string, method = 'GET'): Promise<Response> =>
  fetch(`http://127.0.0.1:${listener.port}${path}`, { method })

test.each(['/metrics', '/metrics?name=x'])('GET %s is the numbers, with their content type', async (path) => {
  const response = await ask(await listen(), path)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(await response.text()).toBe('waybill_up 1\n')
})

test('HEAD has the head of GET and no body', async () => {
  const response = await ask(await listen(), '/metrics', 'HEAD')
  expect(response.status).toBe(200)
  expect(response.headers.get('content-length')).toBe('13')
  expect(await response.text()).toBe('')
})

test.each(['/', '/metrics/', '/Metrics', '/toString', '/../metrics/x'])('there is no %s', async (path) => {
  expect((await ask(await listen(), path)).status).toBe(404)
})

test.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('%s is refused, and told what is not', async (method) => {
  let readCount = 0
  const listener = await listen({ metrics: () => Promise.resolve(String(readCount++)) })
  const response = await ask(listener, '/metrics', method)
  expect(response.status).toBe(405)
  expect(response.headers.get('allow')).toBe('GET, HEAD')
  expect(readCount).toBe(0)
})

test('healthz is 200 while the queue lives, and 503 when it has crashed', async () => {
  let isAlive = true
  const listener = await listen({ isAlive: () => isAlive })
  expect((await ask(listener, '/healthz')).status).toBe(200)
  isAlive = false
  expect((await ask(listener, '/healthz')).status).toBe(503)
})

test('numbers that cannot be read are 500, the reason is for the operator, and the next ask is answered', async () => {
  const errors: unknown[] = []
  let isBroken = true
  const listener = await listen(
    { metrics: () => (isBroken ? Promise.reject(new Error('secret')) : source.metrics()) },
    { onError: (error) => errors.push(error) },
  )
  const response = await ask(listener, '/metrics')
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain('secret')
  expect(errors).toMatchObject([{ message: 'secret' }])
  isBroken = false
  expect((await ask(listener, '/metrics')).status).toBe(200)
})

async function client({ port }: Listener): Promise<{ socket: Socket; closed: Promise<void> }> {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  socket.resume()
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  return { socket, closed }
}

test.each([
  ['says nothing', ''],
  ['stops in the middle of its request', 'GET /metrics HTTP/1.1\r\nHost: x\r\n'],
  ['announces a body that never comes', 'POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx'],
])('a client that %s is disconnected, others are answered meanwhile', async (_, said) => {
  const listener = await listen({}, { timeoutMs: 200 })
  const { socket, closed } = await client(listener)
  socket.write(said)
  expect((await ask(listener, '/metrics')).status).toBe(200)
  const startedAt = performance.now()
  await closed
  expect(performance.now() - startedAt).toBeLessThan(4000)
})

test('a client that sends its request byte by byte is disconnected', async () => {
  const listener = await listen({}, { timeoutMs: 200 })
  const { socket, closed } = await client(listener)
  socket.write('GET /metrics HTTP/1.1\r\n')
  const drip = setInterval(() => socket.write('X-A: b\r\n'), 50)
  onTestFinished(() => clearInterval(drip))
  const startedAt = performance.now()
  await closed
  expect(performance.now() - startedAt).toBeLessThan(4000)
})

test('a client that waits for numbers which do not come is disconnected', async () => {
  const listener = await listen({ metrics: () => new Promise(() => {}) }, { timeoutMs: 200 })
  await expect(ask(listener, '/metrics')).rejects.toThrow('fetch failed')
  expect((await ask(listener, '/healthz')).status).toBe(200)
})

test('more clients than it keeps are turned away, and a client that leaves makes room', async () => {
  const listener = await listen()
  const clients = await Promise.all(Array.from({ length: 20 }, () => client(listener)))
  const late = await client(listener)
  await late.closed
  for (const { socket } of clients) socket.destroy()
  await expect.poll(async () => (await ask(listener, '/metrics').catch(() => undefined))?.status).toBe(200)
})

test('a client that would keep its connection is disconnected when it has its answer', async () => {
  const { socket, closed } = await client(await listen())
  const startedAt = performance.now()
  socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n')
  await closed
  expect(performance.now() - startedAt).toBeLessThan(4000)
})

test('a connection has one request, so a client that pipelines thousands gets one answer', async () => {
  let readCount = 0
  const listener = await listen({ metrics: () => Promise.resolve(String(readCount++)) })
  const { socket, closed } = await client(listener)
  socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2000))
  await closed
  expect(readCount).toBe(1)
})

test('all who ask at once get one reading', async () => {
  let readCount = 0
  const metrics = (): Promise<string> =>
    new Promise((resolve) => setTimeout(() => resolve(String(readCount++)), 200))
  const listener = await listen({ metrics })
  const texts = await Promise.all(
    Array.from({ length: 8 }, async () => (await ask(listener, '/metrics')).text()),
  )
  expect(texts).toEqual(Array.from({ length: 8 }, () => '0'))
  expect(await (await ask(listener, '/metrics')).text()).toBe('1')
})

test('a port that is taken is an error, and close frees it', async () => {
  const listener = await listen()
  const { port } = listener
  await expect(listen({}, { port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  const waiting = await client(listener)
  listener.close()
  await waiting.closed
  expect((await ask(await listen({}, { port }), '/healthz')).status).toBe(200)
})
