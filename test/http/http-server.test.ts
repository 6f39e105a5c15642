/** The HTTP API before a real queue. */
import { channel } from 'node:diagnostics_channel'
import { expect, onTestFinished, test } from 'vitest'
import type { AttemptTrace } from '../../src/engine/life/tracing.js'
import { Tokens } from '../../src/http/wire/tokens.js'
import { fixedRetry } from '../../src/index.js'
import { eventsOf, httpStage, type HttpStage, type Told } from './stage.js'

const all = { all: true }

test('a request without a token, with a wrong one, or with one that does not allow it is refused', async () => {
  const stage = await httpStage()
  const asked = async (authorization?: string): Promise<unknown> => {
    const headers = authorization === undefined ? {} : { authorization }
    const response = await fetch(`${stage.url}/v1/queue`, { headers })
    const { code, status } = (await response.json()) as { code: string; status: number }
    expect(status).toBe(response.status)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    return [code, status, response.headers.get('www-authenticate')]
  }
  expect(await asked()).toEqual(['TOKEN_MISSING', 401, 'Bearer'])
  expect(await asked('Basic YWRhOnNlY3JldA==')).toEqual(['TOKEN_MISSING', 401, 'Bearer'])
  expect(await asked('Bearer wbt_none')).toEqual(['TOKEN_INVALID', 401, 'Bearer'])
  expect(await asked(`Bearer ${stage.token('submit')}`)).toEqual(['SCOPE_MISSING', 403, null])
  const session = await stage.json('operate', '/v1/session')
  expect(session).toEqual({ name: 'operate', scopes: ['operate'], expiresAt: null })
})

test('what is asked wrongly has an answer with a code and a place', async () => {
  const stage = await httpStage()
  const { ask } = stage
  const problem = async (response: Promise<Response>): Promise<unknown> => {
    const { status, code, detail, place } = (await (await response).json()) as Told
    return [status, code, detail, place]
  }
  const code = async (response: Promise<Response>): Promise<unknown> =>
    ((await (await response).json()) as { code: unknown }).code
  expect(await problem(ask('read', '/nowhere'))).toEqual([404, 'NOT_FOUND', expect.any(String), undefined])
  const wrongMethod = await ask('read', '/v1/queue', { method: 'PUT' })
  expect([wrongMethod.status, wrongMethod.headers.get('allow')]).toEqual([405, 'GET'])
  expect(await problem(ask('read', '/v1/messages?limit=9999'))).toEqual([
    400,
    'REQUEST_INVALID',
    'querystring/limit must be <= 500',
    undefined,
  ])
  expect(await code(ask('read', '/v1/messages?sendr=x'))).toBe('REQUEST_INVALID')
  expect(await problem(ask('read', '/v1/messages?lane=heaven'))).toEqual([
    400,
    'OPTION_INVALID',
    expect.stringContaining('a lane is'),
    { option: 'lane' },
  ])
  expect(await code(ask('read', '/v1/messages?after=nonsense'))).toBe('OPTION_INVALID')
  expect(await code(ask('read', '/v1/messages/0'))).toBe('NOT_FOUND')
  const post = (body: string, type: string): Promise<unknown> =>
    code(ask('operate', '/v1/operations', { method: 'POST', body, headers: { 'content-type': type } }))
  expect(await post('{', 'application/json')).toBe('REQUEST_INVALID')
  expect(await post('<a/>', 'application/xml')).toBe('MEDIA_TYPE_UNKNOWN')
  expect(stage.errors).toEqual([])
})

test.each([
  [{ 'content-type': 'application/json; charset=iso-8859-1' }, 415, 'MEDIA_TYPE_UNKNOWN'],
  [{ 'content-type': 'application/json; x=y; charset="UTF-16"' }, 415, 'MEDIA_TYPE_UNKNOWN'],
  [{ 'content-type': 'application/json', 'content-encoding': 'gzip' }, 415, 'MEDIA_TYPE_UNKNOWN'],
  [{ 'content-type': 'message/rfc822', 'content-encoding': 'br' }, 415, 'MEDIA_TYPE_UNKNOWN'],
  [{ 'content-type': 'application/json' }, 400, 'REQUEST_INVALID'],
])('a body that would be read as another one is refused: %j with Latin-1', async (headers, status, code) => {
  const stage = await httpStage()
  const body = Buffer.from('{"from":"a@b.example","to":"one@example.net","subject":"Gr\xfc\xdfe"}', 'latin1')
  const answer = await stage.ask('submit', '/v1/messages', { method: 'POST', body, headers })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/problem+json'])
  expect(await answer.json()).toMatchObject({ code })
})

test.each([
  { 'content-type': 'application/json; charset="UTF-8"' },
  { 'content-type': 'Application/JSON;charset=utf8', 'content-encoding': 'identity' },
])('a body that is what it seems is taken: %j', async (headers) => {
  const stage = await httpStage()
  const body = '\ufeff{"from":"a@b.example","to":"one@example.net","subject":"Grüße"}'
  const answer = await stage.ask('submit', '/v1/messages', { method: 'POST', body, headers })
  expect(answer.status).toBe(202)
})

test('figures say how the queue stands, and go on saying it', async () => {
  const stage = await httpStage()
  await stage.submit('one@example.net')
  await stage.until(async () => (await stage.json('read', '/v1/queue')).totals.deferred === 1)
  const next = stage.holdAnswers()
  await stage.submit('two@example.net')
  await stage.until(async () => (await stage.json('read', '/v1/destinations')).destinations.length === 1)
  const figures = await stage.json('read', '/v1/queue?destinations=5')
  expect(figures).toMatchObject({
    version: '1.2.3',
    totals: { accepted: 2, delivered: 0, deferred: 1, failed: 0 },
    active: { max: 20_000 },
  })
  expect(figures.lanes.map(({ queue }) => queue)).toEqual(['incoming', 'hold', 'deferred'])
  const { destinations } = await stage.json('read', '/v1/destinations')
  expect(destinations[0]).toMatchObject({
    name: 'example.net',
    state: { kind: 'ready' },
    lastReply: { kind: 'deferred', status: '4.2.2', text: 'full' },
  })
  let count = 0
  for await (const { event, data } of eventsOf(
    await stage.ask('read', '/v1/queue/stream?intervalMs=250&destinations=1'),
  )) {
    expect([event, data.totals.deferred, data.destinations.length]).toEqual(['figures', 1, 1])
    if (++count === 2) break
  }
  const { stepMs, accepted } = await stage.json('read', '/v1/rates?span=day')
  expect([stepMs, accepted.length]).toEqual([60_000, 1440])
  next()
})

test('recipients that have expired are failed ones', async () => {
  const stage = await httpStage({}, { retry: fixedRetry([20], 1) })
  await stage.submit('one@example.net', { sender: '' })
  await stage.until(async () => (await stage.json('read', '/v1/queue')).totals.failed === 1)
  expect((await stage.json('read', '/v1/queue')).totals.deferred).toBe(1)
})

test('messages come page by page, one alone, and by what a selector says', async () => {
  const stage = await httpStage()
  const ids: string[] = []
  for (let i = 0; i < 7; i++) ids.push(await stage.submit(`r${i}@example.net`))
  await stage.until(
    async () => (await stage.json('read', '/v1/messages?lane=deferred')).messages.length === 7,
  )
  const listed: string[] = []
  let after = ''
  do {
    const page = await stage.json('read', `/v1/messages?limit=3${after}`)
    listed.push(...page.messages.map(({ id }) => id))
    expect(page.damage).toBeNull()
    after = page.next === null ? '' : `&after=${page.next}`
  } while (after !== '')
  const order: string[] = []
  for await (const { id } of stage.queue.list()) order.push(id)
  expect(listed).toEqual(order)
  const { messages } = await stage.json('read', '/v1/messages?recipient=r3@example.net')
  expect(messages).toMatchObject([{ id: ids[3], queue: 'deferred', recipients: ['r3@example.net'] }])
  expect(await stage.json('read', `/v1/messages/${ids[3]!.toLowerCase()}`)).toEqual(messages[0])
})

test('a message as it is, or composed of its parts, is durable when it is answered', async () => {
  const stage = await httpStage()
  stage.answer = () => ({ kind: 'delivered' })
  const raw = 'From: ada@example.org\r\nBcc: secret@example.net\r\nSubject: raw\r\n\r\nHello.\r\n'
  const sent = await stage.ask(
    'submit',
    '/v1/messages?sender=ada@example.org&recipient=a@example.net&recipient=b@example.net',
    { method: 'POST', body: raw, headers: { 'content-type': 'message/rfc822' } },
  )
  expect(sent.status).toBe(202)
  const { id } = (await sent.json()) as { id: string }
  expect(sent.headers.get('location')).toBe(`/v1/messages/${id}`)
  await stage.until(() => stage.delivered.has('b@example.net'))
  const data = stage.delivered.get('a@example.net')!
  expect(data).toMatch(new RegExp(`^Received: by mail.example.org with HTTP id ${id};`))
  expect(data).toMatch(/^Message-ID: </im)
  expect(data).not.toContain('secret')
  const composed = await stage.post('submit', '/v1/messages', {
    from: { name: 'Ada', address: 'ada@example.org' },
    to: 'c@example.net',
    bcc: ['d@example.net'],
    subject: 'Grüße',
    text: 'Hello.',
    attachments: [{ filename: 'a.txt', content: 'aGVsbG8=', encoding: 'base64' }],
  })
  expect(composed.status).toBe(202)
  const { messageId } = (await composed.json()) as { messageId: string }
  await stage.until(() => stage.delivered.has('d@example.net'))
  expect(stage.delivered.get('c@example.net')).toContain(messageId)
  expect(stage.delivered.get('c@example.net')).not.toContain('d@example.net')
})

test('a long header is completed whole, and one over a mebibyte is refused', async () => {
  const stage = await httpStage()
  stage.answer = () => ({ kind: 'delivered' })
  const post = (toBytes: number): Promise<Response> =>
    stage.ask('submit', '/v1/messages?sender=ada@example.org&recipient=a@example.net', {
      method: 'POST',
      body: `To: ${'u@example.net,\r\n '.repeat(toBytes / 16)}x@y\r\nBcc: secret@x\r\nSubject: raw\r\n\r\nHello.\r\n`,
      headers: { 'content-type': 'message/rfc822' },
    })
  expect((await post(300_000)).status).toBe(202)
  await stage.until(() => stage.delivered.has('a@example.net'))
  expect(stage.delivered.get('a@example.net')).not.toContain('secret')
  expect((await post(1_200_000)).status).toBe(413)
})

test.each([
  ['to', 'not an address'],
  ['to', 'ada@example.org, bob'],
  ['to', ['ada@example.org', 'bob']],
  ['to', 'ada@example.org bob@example.org'],
  ['to', 'ada@example.org\nbob@example.org'],
  ['to', 'ada@example.org>\r\nRCPT TO:<bob@example.org'],
  ['cc', '<ada@example.org> <bob@example.org>'],
  ['cc', '<ada@example.org> bob@example.org'],
  ['cc', 'c@example.net, bob@example.org <ada@example.org> <d@example.org>'],
  ['cc', { name: 'Bob', address: 'bob' }],
  ['bcc', '"Bob" <>'],
  ['bcc', 'friends: ada@example.org, bob;'],
  ['from', 'nobody'],
  ['replyTo', '@example.org'],
  ['envelope', { from: 'ada@example.org', to: ['ada@example.org', 'bob'] }],
  ['envelope', { from: 'nobody', to: 'ada@example.org' }],
])('nobody is left out: a message with %s %j is refused', async (member, value) => {
  const stage = await httpStage()
  const mail = { from: 'ada@example.org', to: 'c@example.net', text: 'x', [member]: value }
  const response = await stage.post('submit', '/v1/messages', mail)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    code: 'ADDRESS_INVALID',
    detail: expect.stringContaining(`(option ${member}`) as string,
  })
})

test('groups of nobody, and mailboxes with names and comments, are composed', async () => {
  const stage = await httpStage()
  stage.answer = () => ({ kind: 'delivered' })
  const mail = { from: 'Ada (home) <ada@example.org>', to: 'undisclosed-recipients:;', cc: '', text: 'x' }
  const bcc =
    'g@example.net <grace@example.net>, friends: "B, <C@x>" <bc@example.net>, d@example.net (e@example.net (f@x)), i@[IPv6:::1];'
  const { status } = await stage.post('submit', '/v1/messages', { ...mail, bcc })
  expect(status).toBe(202)
  await stage.until(() => stage.delivered.size === 4)
  const addresses = ['bc@example.net', 'd@example.net', 'grace@example.net', 'i@[ipv6:::1]']
  expect([...stage.delivered.keys()].sort()).toEqual(addresses)
})

test('a mailbox with a million quotes holds no other request up', async () => {
  const stage = await httpStage()
  const mail = { from: 'ada@example.org', to: `"${'\\"'.repeat(1_000_000)} <c@example.net>`, text: 'x' }
  const response = await stage.post('submit', '/v1/messages', mail)
  expect(response.status).toBe(400)
})

test('nothing in a request has the server read a file or a URL', async () => {
  const stage = await httpStage()
  const mail = { from: 'ada@example.org', to: 'c@example.net', text: 'x' }
  for (const attachments of [
    [{ path: '/etc/passwd' }],
    [{ href: 'http://127.0.0.1/' }],
    [{ content: { path: '/etc/passwd' } }],
  ]) {
    const response = await stage.post('submit', '/v1/messages', { ...mail, attachments })
    expect(response.status).toBe(400)
  }
  const text = await stage.post('submit', '/v1/messages', { ...mail, text: { path: '/etc/passwd' } })
  expect(text.status).toBe(400)
})

test('a submission that is repeated with its key makes no second message', async () => {
  const stage = await httpStage()
  const mail = { from: 'ada@example.org', to: 'c@example.net', text: 'x' }
  const send = (key: string): Promise<Response> =>
    stage.ask('submit', '/v1/messages', {
      method: 'POST',
      body: JSON.stringify(mail),
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
    })
  const [one, two, three] = [await send('"a key"'), await send('a key'), await send('another')]
  expect([one.status, two.status, three.status]).toEqual([202, 200, 202])
  const [first, second, third] = (await Promise.all([one.json(), two.json(), three.json()])) as {
    id: string
    messageId: string
    isDuplicate: boolean
  }[]
  expect(second).toEqual({ id: first!.id, isDuplicate: true })
  expect(first!.messageId).toMatch(/^<.+@.+>$/)
  expect(third!.id).not.toBe(first!.id)
})

test('a key in UTF-8 is the one that a program in the same process gives', async () => {
  const stage = await httpStage()
  const idempotencyKey = 'schlüssel-€'
  const recipients = ['c@example.net']
  const { id } = await stage.queue.submit({ sender: '', recipients, data: 'x\r\n', idempotencyKey })
  const response = await stage.ask('submit', '/v1/messages', {
    method: 'POST',
    body: JSON.stringify({ from: 'ada@example.org', to: recipients, text: 'x' }),
    headers: {
      'content-type': 'application/json',
      'idempotency-key': Buffer.from(idempotencyKey).toString('latin1'),
    },
  })
  expect(await response.json()).toEqual({ id, isDuplicate: true })
})

test('a second Content-Type is refused', async () => {
  const stage = await httpStage()
  const headers = { 'content-type': 'text/html' }
  const mail = { from: 'ada@example.org', to: 'c@example.net', text: '<p>x</p>', headers }
  const response = await stage.post('submit', '/v1/messages', mail)
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('no Content-Type')])
})

test('the trace of a request goes on with its message, and one that is malformed does no harm', async () => {
  const traced: unknown[] = []
  const hear = (message: unknown): void => void traced.push((message as AttemptTrace).traceparent)
  channel('tracing:waybill:attempt:start').subscribe(hear)
  onTestFinished(() => {
    channel('tracing:waybill:attempt:start').unsubscribe(hear)
  })
  const stage = await httpStage()
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  for (const given of [traceparent, 'nonsense']) {
    const { status } = await stage.ask('submit', '/v1/messages', {
      method: 'POST',
      body: JSON.stringify({ from: 'ada@example.org', to: 'c@example.net', text: 'x' }),
      headers: { 'content-type': 'application/json', traceparent: given, tracestate: 'a=b' },
    })
    expect(status).toBe(202)
  }
  await stage.until(() => Promise.resolve(traced.length === 2))
  expect(traced).toEqual([traceparent, undefined])
})

test('terms of a submission reach the queue by both forms, and tags select messages', async () => {
  const stage = await httpStage()
  const notBefore = Date.now() + 86_400_000
  const mail = { from: 'ada@example.org', to: 'c@example.net', text: 'x' }
  const terms = { tags: ['news', 'november'], notBefore, priority: 'low' }
  expect((await stage.post('submit', '/v1/messages', { ...mail, ...terms })).status).toBe(202)
  const query = `sender=ada@example.org&recipient=d@example.net&tag=news&hold=true&notBefore=${notBefore}`
  const send = (more: string): Promise<Response> =>
    stage.ask('submit', `/v1/messages?${query}${more}`, {
      method: 'POST',
      body: 'Subject: x\r\n\r\nx\r\n',
      headers: { 'content-type': 'message/rfc822' },
    })
  expect((await send('')).status).toBe(202)
  const countOf = async (selector: string): Promise<number> =>
    (await stage.json('read', `/v1/messages?${selector}`)).messages.length
  // One that moves to its lane meanwhile is on the page twice.
  await stage.until(async () => (await countOf('tag=news')) === 2)
  await stage.until(async () => (await countOf('tag=november')) === 1)
  expect((await (await send('&expiresAt=1')).json()) as object).toMatchObject({ code: 'OPTION_INVALID' })
})

test('a large message is streamed, and one too large is refused', async () => {
  const stage = await httpStage({}, { dataBytesMax: 3_000_000 })
  stage.answer = () => ({ kind: 'delivered' })
  const send = (lines: number): Promise<Response> =>
    stage.ask('submit', '/v1/messages?sender=&recipient=a@example.net', {
      method: 'POST',
      body: `Subject: large\r\n\r\n${'x'.repeat(98)}\r\n`.concat(`${'y'.repeat(98)}\r\n`.repeat(lines)),
      headers: { 'content-type': 'message/rfc822' },
    })
  expect((await send(20_000)).status).toBe(202)
  await stage.until(() => stage.delivered.has('a@example.net'))
  expect(stage.delivered.get('a@example.net')!.match(/^y{98}\r$/gm)).toHaveLength(20_000)
  const refused = await send(40_000)
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
    413,
    'MESSAGE_TOO_LARGE',
  ])
})

test('a verb is counted first, carried out, watched and remembered', async () => {
  const stage = await httpStage()
  for (let i = 0; i < 5; i++) await stage.submit(`r${i}@example.net`)
  await stage.until(
    async () => (await stage.json('read', '/v1/messages?lane=deferred')).messages.length === 5,
  )
  const begin = async (order: object): Promise<Told> => {
    const response = await stage.ask('operate', '/v1/operations', {
      method: 'POST',
      body: JSON.stringify(order),
      headers: { 'content-type': 'application/json', prefer: 'wait=10' },
    })
    return (await response.json()) as Told
  }
  const dry = await begin({ do: 'hold', selector: all, dryRun: true, sampleMax: 2 })
  expect(dry).toMatchObject({ state: 'done', dryRun: true, by: 'operate', counts: { messageCount: 5 } })
  expect(dry.sample).toHaveLength(2)
  expect((await stage.json('read', '/v1/messages?lane=hold')).messages).toEqual([])
  const held = await begin({ do: 'hold', selector: all })
  expect(held).toMatchObject({ state: 'done', counts: { messageCount: 5, failedCount: 0 }, problem: null })
  expect((await stage.json('read', '/v1/messages?lane=hold')).messages).toHaveLength(5)
  for await (const { event, data } of eventsOf(
    await stage.ask('operate', `/v1/operations/${held.id}/stream`),
  ))
    expect([event, data]).toEqual(['operation', held])
  const { operations } = await stage.json('operate', '/v1/operations')
  expect(operations.map(({ id }) => id)).toEqual([held.id, dry.id])
  expect(await begin({ do: 'reroute', selector: all })).toMatchObject({ code: 'REQUEST_INVALID' })
  expect(await begin({ do: 'delete', selector: {} })).toMatchObject({
    state: 'failed',
    problem: { code: 'OPTION_INVALID' },
  })
})

test('a verb that is stopped says how far it came', async () => {
  const stage = await httpStage()
  for (let i = 0; i < 3; i++) await stage.submit(`r${i}@example.net`)
  await stage.until(
    async () => (await stage.json('read', '/v1/messages?lane=deferred')).messages.length === 3,
  )
  const response = await stage.post('operate', '/v1/operations', {
    do: 'flush',
    selector: all,
    perSecond: 0.01,
  })
  expect(response.status).toBe(202)
  const { id } = (await response.json()) as { id: string }
  await stage.until(
    async () => (await stage.json('operate', `/v1/operations/${id}`)).counts.messageCount === 1,
  )
  await stage.ask('operate', `/v1/operations/${id}`, { method: 'DELETE' })
  await stage.until(async () => (await stage.json('operate', `/v1/operations/${id}`)).state === 'stopped')
  expect((await stage.json('operate', `/v1/operations/${id}`)).counts.messageCount).toBe(1)
})

test('the stream of a token that is taken back ends', async () => {
  const stage = await httpStage({
    clock: { ...(await import('../../src/base/clock.js')).systemClock, after: hastened },
  })
  const response = await stage.ask('read', '/v1/queue/stream')
  stage.tokens = new Tokens([])
  const events: string[] = []
  for await (const { event, data } of eventsOf(response)) events.push(data.code ?? event)
  expect(events.at(-1)).toBe('TOKEN_INVALID')
})

/** Fifteen seconds are fifty milliseconds. */
const hastened = (ms: number, callback: () => void): { cancel: () => void } => {
  const timer = setTimeout(callback, ms === 15_000 ? 50 : ms)
  return { cancel: () => clearTimeout(timer) }
}

test('pages are shown without a token, and run nothing from elsewhere', async () => {
  const stage = await httpStage({
    pages: [{ path: '/', contentType: 'text/html; charset=utf-8', body: Buffer.from('<!doctype html>') }],
  })
  const page = await fetch(`${stage.url}/`)
  const head = await fetch(`${stage.url}/`, { method: 'HEAD' })
  expect([head.status, head.headers.get('etag')]).toEqual([200, page.headers.get('etag')])
  const other = await fetch(`${stage.url}/`, { method: 'PUT' })
  expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  expect(await page.text()).toBe('<!doctype html>')
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'")
  const again = await fetch(`${stage.url}/`, { headers: { 'if-none-match': page.headers.get('etag')! } })
  expect(again.status).toBe(304)
})

test('a server that leaves answers the requests that change something, and drops the others', async () => {
  let settle = (): void => undefined
  const settled = new Promise<void>((resolve) => (settle = resolve))
  let submitCount = 0
  const stage: HttpStage = await httpStage({
    door: {
      submit: async (submission) => {
        submitCount++
        await settled
        return stage.queue.submit(submission)
      },
    },
  })
  const held = stage.post('submit', '/v1/messages', {
    from: 'ada@example.org',
    to: 'grace@example.net',
    text: 'x',
  })
  await stage.until(() => submitCount === 1)
  const stream = await stage.ask('read', '/v1/queue/stream')
  let hasLeft = false
  const left = stage.listener.leave().then(() => (hasLeft = true))
  await expect(stream.text()).resolves.toContain('data:')
  await expect(stage.ask('read', '/v1/queue')).rejects.toThrow('fetch failed')
  expect(hasLeft).toBe(false)
  settle()
  const answer = await held
  expect(answer.status).toBe(202)
  expect(answer.headers.get('connection')).toBe('close')
  await left
})
