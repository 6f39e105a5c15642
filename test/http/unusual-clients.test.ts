/** Clients that are right and unusual: libraries with habits, shells, proxies. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Connections } from '../../src/http/wire/connections.js'
import { listening } from '../../src/relay/listening.js'
import { httpStage, type HttpStage } from './stage.js'

const codeOf = async (answer: Response): Promise<unknown> => [
  answer.status,
  ((await answer.json()) as { code: string }).code,
]

const mail = { from: 'ada@example.org', to: 'one@example.net', text: 'Hello.' }

/** More than a connection's buffers take. */
const large = Buffer.from(`Subject: large\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(300_000)}`)

/** @param query of message/rfc822 */
const submitted = (stage: HttpStage, query: string): Promise<Response> =>
  stage.ask('submit', `/v1/messages?sender=ada@example.org&${query}`, {
    method: 'POST',
    body: 'Subject: test\r\n\r\nHello.\r\n',
    headers: { 'content-type': 'message/rfc822' },
  })

test('a request that takes longer than silence may last has its answer', async () => {
  const submit = async (): Promise<{ id: never }> => {
    await pause(1000)
    return { id: '1' as never }
  }
  const stage = await httpStage({ idleMs: 200, door: { submit: submit as never } })
  const answer = await stage.post('submit', '/v1/messages', mail)
  expect(answer.status).toBe(202)
})

test('a client that reads no answer is dropped, also when it had to wait for the first of it', async () => {
  let begin = (): void => undefined
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const server = createServer((_request, response) => {
    void begun.then(() => response.end(large))
  })
  server.setTimeout(200)
  const connections = new Connections(5)
  connections.watch(server)
  server.on('request', (request, response) => connections.begins(request, response))
  const { port } = await listening(server, '127.0.0.1', 0)
  onTestFinished(() => void server.close())
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await pause(1000)
  expect(connections.count).toBe(1)
  begin()
  while (connections.count > 0) await pause(20)
  let bytes = 0
  socket.on('data', (piece: Buffer) => (bytes += piece.length))
  await once(socket, 'close')
  expect(bytes).toBeLessThan(large.length)
})

test('a client that stops within its body, or reads no answer, is dropped', async () => {
  const stage = await httpStage({ idleMs: 200 })
  const id = await stage.submit('one@example.net', { hold: true, data: large })
  const left = async (request: string, pauseMs: number): Promise<number> => {
    const socket = connect(stage.listener.port, '127.0.0.1').on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    socket.write(request)
    let bytes = 0
    await pause(pauseMs)
    socket.on('data', (piece: Buffer) => (bytes += piece.length))
    await once(socket, 'close')
    return bytes
  }
  const head = (line: string, token: string): string =>
    `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`
  const post = head('POST /v1/messages?sender=&recipient=two@example.net', stage.token('submit'))
  expect(await left(`${post}Content-Type: message/rfc822\r\nContent-Length: 99\r\n\r\nSubject`, 0)).toBe(0)
  const get = head(`GET /v1/messages/${id}/data`, stage.token('content'))
  expect(await left(`${get}\r\n`, 2000)).toBeLessThan(large.length)
})

test.each([
  'recipient=%FFada@example.net',
  'recipient=100%@example.net',
  'recipient=ada@example.net&tag=%E4',
  'recipient=ada@example.net&%FF=1',
])('a query that is not UTF-8 in percent-encoding is refused: %s', async (query) => {
  const stage = await httpStage()
  expect(await codeOf(await submitted(stage, query))).toEqual([400, 'REQUEST_INVALID'])
  expect(stage.errors).toEqual([])
})

test('an id that is too long for one is no mistake of the server', async () => {
  const stage = await httpStage()
  const answer = await stage.ask('read', `/v1/messages/${'A'.repeat(500)}`)
  expect(await codeOf(answer)).toEqual([400, 'REQUEST_INVALID'])
  expect(stage.errors).toEqual([])
})

test('a request without a body may name a type for one', async () => {
  const stage = await httpStage()
  for (const headers of [{ 'content-type': 'application/json' }, { 'content-type': 'text/plain' }]) {
    const stopped = await stage.ask('operate', '/v1/operations/none', { method: 'DELETE', headers })
    expect(await codeOf(stopped)).toEqual([404, 'NOT_FOUND'])
    const viewed = await stage.ask('content', '/v1/messages/0/parts/1/view', { method: 'POST', headers })
    expect(await codeOf(viewed)).toEqual([404, 'NOT_FOUND'])
  }
})

test.each([
  { content: 'data:application/pdf;base64,JVBERi0=', encoding: 'base64' },
  { content: 'JVBERi0*', encoding: 'base64' },
  { content: 'JVBER', encoding: 'base64' },
  { content: 'abc', encoding: 'hex' },
  { content: 'zz', encoding: 'hex' },
])('an attachment that is not in its encoding is refused: %j', async (attachment) => {
  const stage = await httpStage()
  const answer = await stage.post('submit', '/v1/messages', {
    ...mail,
    attachments: [{ content: 'ok' }, { ...attachment, filename: 'a.pdf' }],
  })
  expect(await codeOf(answer)).toEqual([400, 'OPTION_INVALID'])
})

test.each([
  { content: 'JVBE\r\nRi0=\r\n', encoding: 'base64' },
  { content: 'JVBERi0', encoding: 'base64' },
  { content: '', encoding: 'base64' },
  { content: '__-_', encoding: 'base64' },
  { content: 'aBcd', encoding: 'hex' },
])('an attachment that is in its encoding is taken: %j', async (attachment) => {
  const stage = await httpStage()
  const answer = await stage.post('submit', '/v1/messages', { ...mail, attachments: [attachment] })
  expect(answer.status).toBe(202)
})
