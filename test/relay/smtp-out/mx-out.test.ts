import { expect, test } from 'vitest'
import type { SiteTrouble } from '../../../src/delivery/transport.js'
import { isWaybillError } from '../../../src/errors.js'
import { mxTransport } from '../../../src/relay/smtp-out/mx-out.js'
import type { MxTransportOptions } from '../../../src/relay/smtp-out/mx-out-options.js'
import { domainAt, mxTransportOf, serversAt, type Script } from './mx-out-fixture.js'
import { deliver, requestOf, someData } from '../request.js'
import { zone } from '../zone.js'

const at =
  (stage: string, answer: ReturnType<Script>): Script =>
  (line) =>
    line.startsWith(stage) ? answer : undefined

const takenBy = (servers: readonly { readonly taken: readonly unknown[] }[]): number[] =>
  servers.map(({ taken }) => taken.length)

test('mail goes to the best mail host of the domain', async () => {
  const { servers, send } = await domainAt({ '127.0.0.2': undefined, '127.0.0.3': undefined })
  expect(await send()).toMatchObject({ kind: 'delivered' })
  expect(takenBy(servers)).toEqual([1, 0])
})

test.each<[string, ReturnType<Script>]>([
  ['421', '421 4.3.2 too busy'],
  ['454', '454 4.3.0 not now'],
  ['554', '554 5.3.2 go away'],
  ['nothing, and closes', { does: 'close' }],
  ['nothing', { does: 'hang' }],
])('a mail host that greets with %s is passed over', async (_, greeting) => {
  const hosts = { '127.0.0.2': at('GREETING', greeting), '127.0.0.3': undefined }
  const { servers, send } = await domainAt(hosts, { greetingTimeoutMs: 200 })
  expect(await send()).toMatchObject({ kind: 'delivered' })
  expect(takenBy(servers)).toEqual([0, 1])
})

test.each(['127.0.0.3', '::1'])(
  'a mail host that is not there is passed over for one at %s',
  async (host) => {
    const { servers, port } = await serversAt({ [host]: undefined })
    const resolver = zone({
      'example.net': {
        mx: [
          [1, 'lost'],
          [2, 'there'],
        ],
      },
      lost: { a: ['127.0.0.4'], aaaa: ['::ffff:127.0.0.5'] },
      there: host.includes(':') ? { aaaa: [host] } : { a: [host] },
    })
    expect(await deliver(mxTransportOf({ port, resolver }))).toMatchObject({ kind: 'delivered' })
    expect(takenBy(servers)).toEqual([1])
  },
)

/** A server that is silent has a moment. */
const impatient = { greetingTimeoutMs: 200, silenceTimeoutMs: 200 }

test('when no mail host can be reached, mail is put off, and each says why', async () => {
  const { port, sendWhole } = await domainAt({
    '127.0.0.2': at('GREETING', '421 4.3.2 too busy'),
    '127.0.0.3': at('EHLO', { does: 'close' }),
  })
  const { kind, status, reason, remote } = (await sendWhole()) as SiteTrouble
  expect({ kind, status }).toEqual({ kind: 'site', status: '4.3.2' })
  expect(reason).toBe(
    `h2[127.0.0.3]:${port}: the connection was closed while waiting for the reply to EHLO; and 421 4.3.2 too busy`,
  )
  expect(remote).toBe(`h1[127.0.0.2]:${port}`)
})

test.each([
  ['GREETING', 'the greeting'],
  ['EHLO', 'the reply to EHLO'],
  ['MAIL', 'the reply to MAIL'],
  ['RCPT', 'the reply to RCPT'],
  ['DATA', 'the reply to DATA'],
])('of a server that is silent or closes at %s, mail says what it waited for', async (stage, what) => {
  const silent = await domainAt({ '127.0.0.2': at(stage, { does: 'hang' }) }, impatient)
  const name = `h1[127.0.0.2]:${silent.port}`
  expect(await silent.sendWhole()).toMatchObject({ reason: `${name}: timed out while waiting for ${what}` })
  const closing = await domainAt({ '127.0.0.3': at(stage, { does: 'close' }) })
  expect(await closing.sendWhole()).toMatchObject({
    reason: `h1[127.0.0.3]:${closing.port}: the connection was closed while waiting for ${what}`,
  })
})

test('a server that closes at STARTTLS is asked for nothing more, and its reply is the reason', async () => {
  const script = at('STARTTLS', { reply: '421 4.3.2 too busy', does: 'close' })
  const { servers, sendWhole } = await domainAt({ '127.0.0.2': script }, { tls: 'opportunistic' }, [
    'STARTTLS',
  ])
  expect(await sendWhole()).toMatchObject({
    kind: 'site',
    status: '4.3.2',
    reason: 'Server terminates connection: 421 4.3.2 too busy',
  })
  expect(servers[0]!.commands.at(-1)).toMatch(/STARTTLS$/)
})

test('no more than five addresses are tried', async () => {
  const busy = at('GREETING', '421 4.3.2 too busy')
  const addresses = [2, 3, 4, 5, 6, 7, 8].map((n) => `127.0.0.${n}`)
  const { servers, send } = await domainAt(Object.fromEntries(addresses.map((host) => [host, busy])))
  expect(await send()).toMatchObject({ kind: 'site' })
  expect(servers.map((server) => server.sessionCount())).toEqual([1, 1, 1, 1, 1, 0, 0])
})

test.each(['MAIL', 'RCPT', 'DATA', '.'])(
  'a message that a mail host puts off as a whole at %s is sent to the next',
  async (stage) => {
    const { servers, send } = await domainAt({
      '127.0.0.2': at(stage, '451 4.3.0 not now'),
      '127.0.0.3': undefined,
    })
    expect(await send({ recipients: ['one@example.net', 'two@example.net'] })).toMatchObject({
      kind: 'delivered',
    })
    expect(takenBy(servers)).toEqual([0, 1])
  },
)

test('a message that a mail host has no letters for goes back, whatever the next one offers', async () => {
  const plain: Script = (line) => (line.startsWith('EHLO') ? '250-h1\r\n250 8BITMIME' : undefined)
  const { servers, send } = await domainAt({ '127.0.0.2': plain, '127.0.0.3': undefined })
  expect(await send({ sender: 'gr\u00fc\u00dfe@example.org' })).toMatchObject({
    kind: 'failed',
    status: '5.6.7',
  })
  expect(servers.map((server) => server.sessionCount())).toEqual([1, 0])
})

test('two mail hosts hear of a message within one attempt', async () => {
  const later = at('MAIL', '451 4.3.0 not now')
  const { servers, send } = await domainAt({ '127.0.0.2': later, '127.0.0.3': later, '127.0.0.4': undefined })
  expect(await send()).toMatchObject({ kind: 'deferred', status: '4.3.0' })
  expect(servers.map((server) => server.sessionCount())).toEqual([1, 1, 0])
})

test('what a mail host said counts when the next one cannot be reached', async () => {
  const { send } = await domainAt({
    '127.0.0.2': at('RCPT', '450 4.2.0 greylisted'),
    '127.0.0.3': at('GREETING', '421 4.3.2 too busy'),
  })
  expect(await send()).toMatchObject([{ kind: 'deferred', status: '4.2.0' }])
})

test.each<[string, ReturnType<Script>, object]>([
  ['refuses it', '550 5.7.1 no', { kind: 'failed', status: '5.7.1' }],
  ['closes without an answer', { does: 'close' }, { kind: 'site', status: '4.4.2' }],
  ['answers what nobody understands', '354 go on', { kind: 'site', status: '4.4.2' }],
])(
  'a mail host that %s after the end of the data is the last one of the attempt',
  async (_, answer, result) => {
    const { servers, send } = await domainAt({ '127.0.0.2': at('.', answer), '127.0.0.3': undefined })
    expect(await send()).toMatchObject(result)
    expect(servers[1]?.sessionCount()).toBe(0)
  },
)

test('a mail host that puts off one recipient and takes the other is the last one of the attempt', async () => {
  const { servers, send } = await domainAt({
    '127.0.0.2': (line) => (line.includes('<later@') ? '450 4.2.0 later' : undefined),
    '127.0.0.3': undefined,
  })
  const recipients = ['later@example.net', 'now@example.net']
  expect(await send({ recipients })).toMatchObject([{ kind: 'deferred' }, { kind: 'delivered' }])
  expect(servers[1]?.sessionCount()).toBe(0)
})

test('an answer names its server', async () => {
  const { port, sendWhole } = await domainAt({
    '127.0.0.2': (line) => (line.includes('<no@') ? '550 5.1.1 no' : undefined),
  })
  const remote = `h1[127.0.0.2]:${port}`
  expect(await sendWhole({ recipients: ['no@example.net', 'yes@example.net'] })).toEqual([
    { kind: 'failed', status: '5.1.1', reason: '550 5.1.1 no', remote },
    { kind: 'delivered', response: '250 2.0.0 taken', remote },
  ])
})

test('the second message goes over the same connection, also to a mail host that is not the best', async () => {
  const { servers, send } = await domainAt({
    '127.0.0.2': at('GREETING', '421 4.3.2 too busy'),
    '127.0.0.3': undefined,
  })
  await send()
  await send()
  expect(servers.map((server) => server.sessionCount())).toEqual([1, 1])
  expect(takenBy(servers)).toEqual([0, 2])
})

test('a connection to a worse mail host that ends while it waits gives way to the best one', async () => {
  let isBusy = true
  const { servers, send } = await domainAt({
    '127.0.0.2': (line) => (line === 'GREETING' && isBusy ? '421 4.3.2 too busy' : undefined),
    '127.0.0.3': (line, { taken }) =>
      line.startsWith('MAIL') && taken === 1 ? { does: 'close' } : undefined,
  })
  await send()
  isBusy = false
  expect(await send()).toMatchObject({ kind: 'delivered' })
  expect(takenBy(servers)).toEqual([1, 1])
  expect(servers[1]?.sessionCount()).toBe(1)
})

test('two domains with one mail host share its connections', async () => {
  const { servers, port } = await serversAt({ '127.0.0.2': undefined })
  const resolver = zone({
    'example.net': { mx: [[1, 'mx']] },
    'example.com': { mx: [[1, 'MX.']] },
    mx: { a: ['127.0.0.2'] },
  })
  const transport = mxTransportOf({ port, resolver })
  await deliver(transport)
  await deliver(transport, { nexthop: 'example.com', recipients: ['one@example.com'] })
  expect(servers[0]?.taken.map(({ session }) => session)).toEqual([1, 1])
})

test('the DNS is asked at every attempt', async () => {
  const { dns, send } = await domainAt({ '127.0.0.2': undefined })
  await send()
  await send()
  expect(dns.questions.filter((question) => question === 'MX example.net')).toHaveLength(2)
})

test('a domain in letters is asked for in ASCII', async () => {
  const { servers, port } = await serversAt({ '127.0.0.2': undefined })
  const resolver = zone({ 'xn--mnchen-3ya.de': { a: ['127.0.0.2'] } })
  const recipients = ['one@münchen.de']
  const request = { nexthop: 'münchen.de', recipients }
  expect(await deliver(mxTransportOf({ port, resolver }), request)).toMatchObject({ kind: 'delivered' })
  expect(servers[0]?.taken[0]?.recipients).toEqual(recipients)
})

test.each(['[127.0.0.2]', '[IPv6:::1]'])('mail for an address is delivered there: %s', async (nexthop) => {
  const host = nexthop.includes(':') ? '::1' : '127.0.0.2'
  const { servers, port } = await serversAt({ [host]: undefined })
  const transport = mxTransportOf({ port, resolver: zone({}) })
  const recipients = [`one@${nexthop}`]
  expect(await deliver(transport, { nexthop, recipients })).toMatchObject({ kind: 'delivered' })
  expect(takenBy(servers)).toEqual([1])
})

test.each([
  ['example.net', 'one@example.net', 'failed', '5.1.2'],
  ['example.net', 'one@EXAMPLE.net', 'failed', '5.1.2'],
  ['xn--mnchen-3ya.de', 'one@münchen.de', 'failed', '5.1.2'],
  ['a..b', 'one@a..b', 'failed', '5.1.2'],
  ['relay.exmaple.org', 'one@example.net', 'site', '4.3.5'],
  ['no host', 'one@example.net', 'site', '4.3.5'],
  ['[mx.example.net', 'one@example.net', 'site', '4.3.5'],
  ['[myself.example.org]', 'one@example.net', 'site', '4.3.5'],
])('nothing at %s for %s: %s %s', async (nexthop, recipient, kind, status) => {
  const transport = mxTransportOf({ resolver: zone({}), hostname: 'myself.example.org' })
  expect(await deliver(transport, { nexthop, recipients: [recipient] })).toMatchObject({ kind, status })
})

test("an operator's nexthop may name host and port", async () => {
  const { servers, port } = await serversAt({ '127.0.0.2': undefined })
  const resolver = zone({ 'other.example.org': { mx: [[1, 'elsewhere']], a: ['127.0.0.2'] } })
  const transport = mxTransportOf({ resolver })
  for (const nexthop of [`[other.example.org]:${port}`, `[127.0.0.2]:${port}`, `127.0.0.2:${port}`])
    expect(await deliver(transport, { nexthop })).toMatchObject({ kind: 'delivered' })
  expect(takenBy(servers)).toEqual([3])
})

test('a resolver that is silent puts mail off in time, like a connection that fails', async () => {
  const transport = mxTransportOf({
    resolver: zone({ 'example.net': { mx: 'silent' } }),
    lookupTimeoutMs: 50,
  })
  expect(await deliver(transport)).toMatchObject({ kind: 'site', status: '4.4.3' })
})

test('an attempt that is abandoned waits for no resolver, and connects nowhere', async () => {
  const { servers, port } = await serversAt({ '127.0.0.2': undefined })
  const resolver = zone({
    'example.net': {
      mx: [
        [1, 'silent'],
        [2, 'there'],
      ],
    },
    silent: { a: 'silent' },
    there: { a: ['127.0.0.2'] },
  })
  const transport = mxTransportOf({ port, resolver, lookupTimeoutMs: 60_000 })
  const controller = new AbortController()
  const result = transport.deliver(requestOf(someData), controller.signal)
  await expect.poll(() => resolver.questions).toContain('A silent')
  controller.abort()
  expect(await result).toMatchObject({ kind: 'site' })
  expect(servers[0]?.sessionCount()).toBe(0)
})

test('an attempt that is abandoned while a mail host is silent goes to no other', async () => {
  const { servers, transport } = await domainAt({
    '127.0.0.2': at('GREETING', { does: 'hang' }),
    '127.0.0.3': undefined,
  })
  const controller = new AbortController()
  const result = transport.deliver(requestOf(someData), controller.signal)
  await expect.poll(() => servers[0]?.sessionCount()).toBe(1)
  controller.abort()
  expect(await result).toMatchObject({ kind: 'site' })
  expect(servers[1]?.sessionCount()).toBe(0)
})

test.each<[string, object]>([
  ['tls', { tls: 'required' }],
  ['port', { port: 0 }],
  ['listeners', { listeners: [{ host: 'localhost', port: 25 }] }],
  ['lookupTimeoutMs', { lookupTimeoutMs: 0 }],
  ['host', { host: 'mx.example.net' }],
  ['auth', { auth: { user: 'me', pass: 'x' } }],
  ['connectionReuse.idle', { connectionReuse: { idle: 1 } }],
  ['connectionsMax', { connectionsMax: 0 }],
])('a wrong %s is refused', (option, options) => {
  let refusal: unknown
  try {
    mxTransport(options as MxTransportOptions)
  } catch (error) {
    refusal = error
  }
  expect(isWaybillError(refusal, 'OPTION_INVALID') && refusal.place).toMatchObject({ option })
})
