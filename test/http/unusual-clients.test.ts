/** Clients that are right and unusual: libraries with habits, shells, proxies. */
import { createServer, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import type { Submission } from '../../src/engine/accept/submission.js'
import { Connections } from '../../src/http/wire/connections.js'
import { listening } from '../../src/relay/listening.js'
import { certificate } from '../relay/certificate.js'
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
    await pause(4000)
    return { id: '1' as never }
  }
  const stage = await httpStage({ idleMs: 1500, door: { submit: submit as never } })
  expect((await submitted(stage, 'recipient=one@example.net')).status).toBe(202)
})

test('a mailbox that is named again in other letters gets one copy, as over SMTP', async () => {
  const named: unknown[] = []
  const submit = async ({ recipients }: Submission): Promise<{ id: never }> => {
    named.push(recipients)
    return { id: '1' as never }
  }
  const stage = await httpStage({ door: { submit: submit as never } })
  await submitted(stage, 'recipient=One@example.net&recipient=one@EXAMPLE.net&recipient=two@example.net')
  await stage.post('submit', '/v1/messages', { ...mail, to: 'One@example.net', cc: ['one@example.net'] })
  expect(named).toEqual([['One@example.net', 'two@example.net'], ['One@example.net']])
})

/** A server whose connections are silent when the test says so. */
async function silentServer(answer: (response: ServerResponse) => void) {
  const connections = new Connections(5, systemClock)
  const sockets: Socket[] = []
  const server = createServer((request, response) => {
    sockets.push(request.socket)
    connections.begins(request, response)
    answer(response)
  })
  connections.watch(server)
  const { port } = await listening(server, '127.0.0.1', 0)
  const client = connect(port, '127.0.0.1').on('error', () => undefined)
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  return {
    request: async (text: string) => {
      client.write(text)
      while (sockets.length === 0) await pause(5)
    },
    client,
    silence: () => server.emit('timeout', sockets[0]),
    isDropped: () => sockets[0]!.destroyed,
  }
}

test('a client that waits for us may be silent, and one that does not read what it gets may not', async () => {
  let begin = (): void => undefined
  const server = await silentServer((response) => {
    begin = () => void response.end(large)
  })
  await server.request('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  server.silence()
  expect(server.isDropped()).toBe(false)
  begin()
  server.silence()
  expect(server.isDropped()).toBe(true)
})

test('a client that stops within its body may not be silent', async () => {
  const server = await silentServer(() => undefined)
  await server.request('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n')
  server.silence()
  expect(server.isDropped()).toBe(true)
})

test('a client whose body we have not read yet may be silent', async () => {
  const server = await silentServer(() => undefined)
  await server.request('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf')
  server.silence()
  expect(server.isDropped()).toBe(false)
})

/** @returns the first line of what a client gets that closes its half behind its request */
async function answeredBehindItsEnd(
  { listener: { port } }: HttpStage,
  request: string,
  isSecure = false,
): Promise<string> {
  const client = isSecure
    ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    : connect(port, '127.0.0.1')
  client.end(request)
  let text = ''
  for await (const part of client) text += String(part)
  return text.split('\r\n', 1)[0]!
}

const withLength = 'Content-Length: 6\r\n\r\nA: b\r\n'
const inChunks = 'Transfer-Encoding: chunked\r\n\r\n6\r\nA: b\r\n\r\n0\r\n\r\n'

test.each([
  { name: 'length', rest: withLength, tls: undefined },
  { name: 'chunks', rest: inChunks, tls: undefined },
  { name: 'TLS', rest: withLength, tls: certificate },
])('a client that closes its half behind its body has its answer: $name', async ({ rest, tls }) => {
  const submit = async (): Promise<{ id: never }> => {
    await pause(1500)
    return { id: '1' as never }
  }
  const stage = await httpStage({ tls, door: { submit: submit as never } })
  const query = 'sender=ada@example.org&recipient=one@example.net'
  const head = `POST /v1/messages?${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${stage.token('submit')}`
  const request = `${head}\r\nContent-Type: message/rfc822\r\n${rest}`
  expect(await answeredBehindItsEnd(stage, request, tls !== undefined)).toBe('HTTP/1.1 202 Accepted')
})

test('a client that closes its half and reads slowly has the whole answer', async () => {
  const server = await silentServer((response) => void response.end(large))
  await server.request('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  server.client.end()
  await pause(1500)
  let bytes = 0
  for await (const part of server.client) bytes += (part as Buffer).length
  expect(bytes).toBeGreaterThan(large.length)
})

test.each([
  { name: 'plain', tls: undefined },
  { name: 'TLS', tls: certificate },
])('a client that closes its half has the answer to what it reads, and no stream: $name', async ({ tls }) => {
  const stage = await httpStage({ tls })
  const read = (path: string): Promise<string> =>
    answeredBehindItsEnd(
      stage,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${stage.token('read')}\r\n\r\n`,
      tls !== undefined,
    )
  expect(await read('/v1/messages')).toBe('HTTP/1.1 200 OK')
  // It ends.
  expect(await read('/v1/outcomes')).toBe('HTTP/1.1 200 OK')
})

test('a body that is compressed on its way is refused', async () => {
  const stage = await httpStage()
  const head = `POST /v1/messages?sender=a@example.org&recipient=b@example.net HTTP/1.1\r\nHost: x`
  const request = `${head}\r\nAuthorization: Bearer ${stage.token('submit')}\r\nContent-Type: message/rfc822`
  const answer = answeredBehindItsEnd(
    stage,
    `${request}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
  )
  expect(await answer).toBe('HTTP/1.1 415 Unsupported Media Type')
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
