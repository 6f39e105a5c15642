/** Requests that no route takes: the client learns why, by a code, and nothing else happens. */
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

async function heard(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}

test.each([
  ['no type and no body', {}],
  ['a type of another route', { body: 'hello', headers: { 'content-type': 'message/rfc822' } }],
  ['a form', { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
])('a body that no schema was held against reaches no route: %s', async (_what, init) => {
  const stage = await httpStage()
  const scopes: Record<string, 'submit' | 'read'> = {
    '/v1/messages': 'submit',
    '/v1/consumers/read/acknowledge': 'read',
  }
  const paths = ['suspend', 'unsuspend', 'slow', 'resume'].map((verb) => `/v1/destinations/${verb}`)
  for (const path of ['/v1/operations', ...paths, '/v1/consumers/read/acknowledge']) {
    const answer = await stage.ask(scopes[path] ?? 'operate', path, { method: 'POST', ...init })
    expect([path, answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
      path,
      415,
      'MEDIA_TYPE_UNKNOWN',
    ])
  }
  expect((await stage.ask('submit', '/v1/messages', { method: 'POST' })).status).toBe(415)
  expect(stage.errors).toEqual([])
})

test('what is no request of HTTP has an answer with a code', async () => {
  const stage = await httpStage()
  for (const text of ['GARBAGE\r\n\r\n', 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n']) {
    const socket = await connected(stage)
    const answer = heard(socket)
    socket.write(text)
    expect(await answer).toMatch(/^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*"code":"REQUEST_INVALID"/)
  }
  const answer = await stage.ask('read', '/v1/messages/%zz')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'application/problem+json'])
  expect(await answer.json()).toMatchObject({ code: 'REQUEST_INVALID' })
})

test('a client that leaves within its message has submitted nothing, and that is no mistake', async () => {
  const stage = await httpStage()
  const socket = await connected(stage)
  socket.write(
    'POST /v1/messages?sender=a@b.example&recipient=one@example.net HTTP/1.1\r\nHost: x\r\n' +
      `Authorization: Bearer ${stage.token('submit')}\r\n` +
      'Content-Type: message/rfc822\r\nContent-Length: 500\r\n\r\nSubject: half',
  )
  // The one before has been read when this one is answered.
  expect(await stage.json('read', '/v1/session')).toMatchObject({ name: 'read' })
  socket.destroy()
  for (let i = 0; i < 20; i++) await stage.json('read', '/v1/session')
  expect((await stage.json('read', '/v1/messages')).messages).toEqual([])
  expect(stage.errors).toEqual([])
})

test('an id may be typed in small letters at every path, and in a selector', async () => {
  const stage = await httpStage({
    conversationsOf: (id) =>
      id === id.toUpperCase() ? [{ at: 1, server: 'x', lines: [], leftOutCount: 0 }] : [],
  })
  const id = (await stage.submit('one@example.net', { hold: true })).toLowerCase()
  expect((await stage.ask('read', `/v1/messages/${id}`)).status).toBe(200)
  const answer = await stage.ask('read', `/v1/messages/${id}/conversations`)
  expect(await answer.json()).toMatchObject({ conversations: [{ server: 'x' }] })
  const order = { do: 'delete', selector: { id }, dryRun: true }
  const counted = await stage.json('operate', '/v1/operations', {
    method: 'POST',
    body: JSON.stringify(order),
    headers: { 'content-type': 'application/json', prefer: 'wait=10' },
  })
  expect(counted).toMatchObject({ state: 'done', counts: { messageCount: 1 }, problem: null })
})
