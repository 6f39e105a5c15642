/** What is asked of a domain's DNS and web server, how often, and what is known when they fail. */
import { getEventListeners, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock, type Clock } from '../../../src/base/clock.js'
import { heldClock } from '../../held-clock.js'
import { MtaSts, type MtaStsOptions } from '../../../src/relay/tls/mta-sts.js'
import { ofCommonMtaSts, ofDomain, ofMtaSts, ofSeveralMtaSts } from '../named-certificates.js'
import { policyText, stsServer, type Page, type StsServer } from '../sts-web.js'
import { zone, type FakeDns, type Name } from '../zone.js'

const minutesMs = 60_000
const anySignal = new AbortController().signal
const enforced = policyText('enforce', ['mx.example.net'])

interface Domain {
  readonly server: StsServer
  readonly mtaSts: MtaSts
  readonly dns: FakeDns
  /** What the record says; undefined: there is none. */
  record: string | undefined
  readonly pass: (ms: number) => void
  readonly mode: () => Promise<string | undefined>
  /** Questions for the record so far. */
  readonly askedCount: () => number
}

/** `example.net`, whose clock passes on request only. */
async function domain(page: Page, options: MtaStsOptions = {}, certificate = ofMtaSts): Promise<Domain> {
  const server = await stsServer(page, certificate)
  let shiftMs = 0
  const clock: Clock = {
    ...systemClock,
    wallMs: () => 0,
    monotonicMs: () => shiftMs,
  }
  const names: Record<string, Name> = { 'mta-sts.example.net': { a: ['127.0.0.1'] } }
  const dns = zone(names)
  const mtaSts = new MtaSts({ resolver: dns, clock, web: server.web, ...options })
  onTestFinished(() => mtaSts.close())
  return {
    server,
    mtaSts,
    dns,
    set record(text: string | undefined) {
      if (text === undefined) delete names['_mta-sts.example.net']
      else names['_mta-sts.example.net'] = { txt: text === 'silent' ? text : [[text]] }
    },
    pass: (ms) => (shiftMs += ms),
    mode: async () => (await mtaSts.policyOf('example.net', new AbortController().signal))?.mode,
    askedCount: () => dns.questions.filter((question) => question.startsWith('TXT')).length,
  }
}

async function withRecord(...args: Parameters<typeof domain>): Promise<Domain> {
  const made = await domain(...args)
  made.record = 'v=STSv1; id=a1;'
  return made
}

test('the record is asked for, then the policy, at one address of one host', async () => {
  const { server, dns, mode } = await withRecord(enforced)
  expect(await mode()).toBe('enforce')
  expect(dns.questions.toSorted()).toEqual([
    'A mta-sts.example.net',
    'AAAA mta-sts.example.net',
    'TXT _mta-sts.example.net',
  ])
  expect(server.asked).toEqual(['GET mta-sts.example.net/.well-known/mta-sts.txt'])
})

test('of a family from which no server is reached no web server is asked, nor its address', async () => {
  const four = await withRecord(enforced, { sourceAddresses: ['127.0.0.3'] })
  expect(await four.mode()).toBe('enforce')
  expect(four.dns.questions.toSorted()).toEqual(['A mta-sts.example.net', 'TXT _mta-sts.example.net'])
  const six = await withRecord(enforced, { sourceAddresses: ['::'] })
  expect(await six.mode()).toBeUndefined()
  expect(six.dns.questions.toSorted()).toEqual(['AAAA mta-sts.example.net', 'TXT _mta-sts.example.net'])
  expect(six.server.asked).toEqual([])
})

test('without a record no web server is asked', async () => {
  const { server, mode } = await domain(enforced)
  expect(await mode()).toBeUndefined()
  expect(server.asked).toEqual([])
})

const answering =
  (status: number, headers: Record<string, string>, body: string): Page =>
  (_, response) => {
    response.writeHead(status, headers).end(body)
  }
const plain = { 'content-type': 'text/plain' }

test.each<[string, Page]>([
  ['404', answering(404, plain, enforced)],
  ['a redirect', answering(301, { ...plain, location: '/there' }, enforced)],
  ['203', answering(203, plain, enforced)],
  ['HTML', answering(200, { 'content-type': 'text/html' }, enforced)],
  ['no type', answering(200, {}, enforced)],
  ['a type that begins alike', answering(200, { 'content-type': 'text/plainer' }, enforced)],
  ['no policy', answering(200, plain, 'mode: enforce\n')],
  ['65 KiB', answering(200, plain, `${enforced}${'x: y\n'.repeat(13_200)}`)],
  ['half of what it says', answering(200, { ...plain, 'content-length': '1000' }, enforced)],
  ['nothing', (_, response) => response.destroy()],
])('a web server that answers %s has no policy', async (_, page) => {
  const { server, mode } = await withRecord(page, { timeoutMs: 2000 })
  expect(await mode()).toBeUndefined()
  expect(server.asked).toHaveLength(1)
})

test('64 KiB, and a type with a character set, are a policy', async () => {
  const page = answering(
    200,
    { 'content-type': 'Text/Plain; charset=utf-8' },
    enforced + 'x: y\n'.repeat(13_080),
  )
  expect(await (await withRecord(page)).mode()).toBe('enforce')
})

test('a web server whose certificate is for another name, or has none but its subject, or is of no root, has no policy', async () => {
  const other = await withRecord(enforced, {}, ofDomain)
  expect(await other.mode()).toBeUndefined()
  const common = await withRecord(enforced, {}, ofCommonMtaSts)
  expect(await common.mode()).toBeUndefined()
  const { port } = other.server.web
  const unknown = await withRecord(enforced)
  expect(port).not.toBe(unknown.server.web.port)
  const mtaSts = new MtaSts({ resolver: unknown.dns, web: { port: unknown.server.web.port! } })
  expect(await mtaSts.policyOf('example.net', new AbortController().signal)).toBeUndefined()
  expect([...other.server.asked, ...common.server.asked, ...unknown.server.asked]).toEqual([])
})

test.each<[string, (response: ServerResponse) => void]>([
  ['has no policy', (response) => void response.writeHead(404).write('x')],
  ['says too much', (response) => void response.writeHead(200, plain).write('x: y\n'.repeat(13_200))],
])('a web server that %s loses its connection at once, though its answer has no end', async (_, answer) => {
  let closed: Promise<unknown> | undefined
  const { mode } = await withRecord((request, response) => {
    closed = once(request.socket, 'close')
    answer(response)
  })
  expect(await mode()).toBeUndefined()
  expect(await Promise.race([closed, sleep(5000, 'late', { ref: false })])).not.toBe('late')
})

test('within five minutes nothing is asked again, whether there is a policy or none', async () => {
  const there = await withRecord(enforced)
  const none = await domain(enforced)
  const failing = await withRecord(answering(500, plain, ''))
  for (const { mode, pass, askedCount } of [there, none, failing]) {
    const first = await mode()
    pass(5 * minutesMs - 1)
    expect(await mode()).toBe(first)
    expect(askedCount()).toBe(1)
    pass(1)
    await mode()
    expect(askedCount()).toBe(2)
  }
  expect(there.server.asked).toHaveLength(1)
  expect(failing.server.asked).toHaveLength(2)
})

test('a policy is read again when the id is another one', async () => {
  const made = await withRecord(enforced)
  expect(await made.mode()).toBe('enforce')
  made.server.page = policyText('none', [])
  made.pass(5 * minutesMs)
  expect(await made.mode()).toBe('enforce')
  made.record = 'v=STSv1; id=a2;'
  made.pass(5 * minutesMs)
  expect(await made.mode()).toBe('none')
})

test('a policy whose id stays is read again after a day', async () => {
  const { server, mode, pass } = await withRecord(policyText('enforce', ['a.example'], 604_800))
  await mode()
  pass(24 * 60 * minutesMs - 1)
  await mode()
  expect(server.asked).toHaveLength(1)
  pass(5 * minutesMs)
  expect(await mode()).toBe('enforce')
  expect(server.asked).toHaveLength(2)
})

test.each<[string, (made: Domain) => void]>([
  [
    'record and web server are gone',
    (made) => {
      made.record = undefined
      made.server.page = answering(500, plain, '')
    },
  ],
  ['the web server fails', ({ server }) => (server.page = answering(500, plain, ''))],
  ['another policy is none', ({ server }) => (server.page = 'mode: none\n')],
])('a policy holds until its end although %s', async (_, harm) => {
  const made = await withRecord(policyText('enforce', ['a.example'], 3600))
  expect(await made.mode()).toBe('enforce')
  made.record = 'v=STSv1; id=a2'
  harm(made)
  made.pass(60 * minutesMs - 1)
  expect(await made.mode()).toBe('enforce')
  expect(made.askedCount()).toBe(2)
  made.pass(1)
  expect(await made.mode()).toBeUndefined()
})

test.each<[string, string | undefined]>([
  ['gone', undefined],
  ['two', 'v=STSv1; id=-'],
  ['silent', 'silent'],
])('a policy is renewed although its record is %s, as long as its web server has it', async (_, record) => {
  const made = await withRecord(policyText('enforce', ['a.example'], 3600), { timeoutMs: 2000 })
  expect(await made.mode()).toBe('enforce')
  made.record = record
  for (let hour = 0; hour < 3; hour++) {
    made.pass(59 * minutesMs)
    expect(await made.mode()).toBe('enforce')
  }
  made.server.page = 'mode: none\n'
  made.pass(61 * minutesMs)
  expect(await made.mode()).toBeUndefined()
})

test('a policy that has ended, and whose record is gone, is not asked for again', async () => {
  const made = await withRecord(policyText('enforce', ['a.example'], 3600))
  expect(await made.mode()).toBe('enforce')
  made.record = undefined
  made.pass(60 * minutesMs)
  expect(await made.mode()).toBeUndefined()
  expect(made.server.asked).toHaveLength(1)
})

test('a policy is waited for ten seconds by default, half of them for the DNS', async () => {
  const delaysMs: number[] = []
  const clock: Clock = {
    ...systemClock,
    after: (delayMs, callback) => {
      delaysMs.push(delayMs)
      return systemClock.after(delayMs, callback)
    },
  }
  const mtaSts = new MtaSts({ resolver: zone({}), clock })
  expect(await mtaSts.policyOf('example.net', new AbortController().signal)).toBeUndefined()
  expect(delaysMs.toSorted((a, b) => a - b)).toEqual([5000, 10_000])
})

test('a policy that says that it ends at once holds until it has been asked for again', async () => {
  const { server, mode, pass } = await withRecord(policyText('enforce', ['a.example'], 0))
  for (const ms of [0, 5 * minutesMs - 1, 1, 5 * minutesMs]) {
    pass(ms)
    expect(await mode()).toBe('enforce')
  }
  expect(server.asked.length).toBeGreaterThan(1)
})

test('a web server that hangs costs its own domain the time, once, and no other', async () => {
  const hanging = await withRecord(() => {}, { timeoutMs: 500 })
  const startMs = performance.now()
  const [first, second] = [hanging.mode(), hanging.mode()]
  let isOver = false
  void first.then(() => (isOver = true))
  await hanging.mtaSts.policyOf('other.example', new AbortController().signal)
  // Had it waited for the first one, that one would be told now.
  await immediate()
  expect(isOver).toBe(false)
  expect(await Promise.all([first, second])).toEqual([undefined, undefined])
  expect(performance.now() - startMs).toBeGreaterThan(450)
  expect(hanging.server.asked).toHaveLength(1)
  expect(await hanging.mode()).toBeUndefined()
  expect(hanging.server.asked).toHaveLength(1)
})

test.each<[string, Page]>([
  ['says nothing', () => {}],
  [
    'drips',
    (_, response) => {
      response.setHeader('content-type', 'text/plain')
      setInterval(() => response.write('x'), 20).unref()
    },
  ],
  [
    'begins and then says nothing',
    (_, response) => void response.setHeader('content-type', 'text/plain').write('version: STSv1\n'),
  ],
])('a web server that %s is given up in time', async (_, page) => {
  const { mode } = await withRecord(page, { timeoutMs: 300 })
  expect(await Promise.race([mode(), sleep(5000, 'late', { ref: false })])).toBeUndefined()
})

test('a handshake that hangs, and a DNS that is silent, are given up in time', async () => {
  const mute = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  onTestFinished(() => void mute.close())
  const web = { port: (mute.address() as AddressInfo).port }
  const hanging = await withRecord(enforced, { timeoutMs: 300, web })
  const silent = await domain(enforced, { timeoutMs: 300 })
  silent.record = 'silent'
  const both = Promise.all([hanging.mode(), silent.mode()])
  expect(await Promise.race([both, sleep(5000, 'late', { ref: false })])).toEqual([undefined, undefined])
})

test.each([
  ['AAAA', { a: ['127.0.0.1'], aaaa: 'silent' }],
  ['A', { a: 'silent', aaaa: ['::ffff:127.0.0.1'] }],
] as const)('a web server with an address is asked though nobody answers for its %s', async (_, name) => {
  const server = await stsServer(enforced)
  const dns = zone({ '_mta-sts.example.net': { txt: [['v=STSv1; id=1;']] }, 'mta-sts.example.net': name })
  const mtaSts = new MtaSts({ resolver: dns, web: server.web })
  const startedAtMs = performance.now()
  expect(await mtaSts.policyOf('example.net', new AbortController().signal)).toMatchObject({
    mode: 'enforce',
  })
  expect(performance.now() - startedAtMs).toBeLessThan(4000)
})

test.each([
  [4, 'enforce'],
  [5, undefined],
])('a web server at the address behind %d where there is none has a policy: %s', async (deadCount, mode) => {
  const server = await stsServer(enforced)
  const dead = Array.from({ length: deadCount }, (_, i) => `127.0.0.${i + 2}`)
  const dns = zone({
    '_mta-sts.example.net': { txt: [['v=STSv1; id=1;']] },
    'mta-sts.example.net': { a: [...dead, '127.0.0.1'] },
  })
  const mtaSts = new MtaSts({ resolver: dns, web: server.web })
  expect((await mtaSts.policyOf('example.net', anySignal))?.mode).toBe(mode)
})

test('a caller that has its answer listens to its signal no more, and no timer goes on', async () => {
  const clock = heldClock()
  const { mtaSts } = await withRecord(enforced, { clock })
  const { signal } = new AbortController()
  expect(await mtaSts.policyOf('example.net', signal)).toMatchObject({ mode: 'enforce' })
  expect(getEventListeners(signal, 'abort')).toEqual([])
  expect(clock.runningCount).toBe(0)
})

test('an attempt that is abandoned before it asks waits for nothing', async () => {
  const { mtaSts } = await withRecord(() => {})
  const policy = mtaSts.policyOf('example.net', AbortSignal.abort())
  expect(await Promise.race([policy, sleep(5000, 'late', { ref: false })])).toBeUndefined()
})

test('an attempt that is abandoned waits no longer, and the others have their answer', async () => {
  let answer: (() => void) | undefined
  const { mtaSts, server } = await withRecord((_, response) => {
    answer = () => void response.setHeader('content-type', 'text/plain').end(enforced)
  })
  const controller = new AbortController()
  const abandoned = mtaSts.policyOf('example.net', controller.signal)
  const waiting = mtaSts.policyOf('example.net', new AbortController().signal)
  await expect.poll(() => answer).toBeDefined()
  controller.abort()
  expect(await abandoned).toBeUndefined()
  answer!()
  expect(await waiting).toMatchObject({ mode: 'enforce' })
  expect(server.asked).toHaveLength(1)
})

test('closing ends what is under way, and its timers; it is asked anew afterwards', async () => {
  const clock = heldClock()
  const made = await withRecord(() => {}, { clock })
  const waiting = made.mode()
  await expect.poll(() => made.server.asked.length).toBe(1)
  made.mtaSts.close()
  expect(await Promise.race([waiting, sleep(5000, 'late', { ref: false })])).toBeUndefined()
  expect(clock.runningCount).toBe(0)
  made.server.page = enforced
  expect(await made.mode()).toBe('enforce')
})

test('of more than ten thousand domains those that were asked longest ago are asked again', async () => {
  const { mtaSts, dns } = await domain(enforced)
  const ask = (name: string): Promise<unknown> => mtaSts.policyOf(name, anySignal)
  for (let i = 0; i <= 10_000; i++) await ask(`d${i}.example`)
  const before = dns.questions.length
  await ask('d1.example')
  expect(dns.questions.length).toBe(before)
  await ask('d0.example')
  expect(dns.questions.length).toBe(before + 1)
})

test('a domain that was asked again was asked last', async () => {
  const { mtaSts, dns, pass } = await domain(enforced, { domainsMax: 2 })
  const ask = (name: string): Promise<unknown> => mtaSts.policyOf(name, anySignal)
  await ask('a.example')
  await ask('b.example')
  pass(5 * minutesMs)
  await ask('a.example')
  await ask('c.example')
  const before = dns.questions.length
  await ask('a.example')
  expect(dns.questions.length).toBe(before)
})

test.each<[string, MtaStsOptions]>([
  ['policies', { domainsMax: 2 }],
  ['long policies', { charactersMax: 2 * 'mx.example.net'.length }],
])('of too many %s the one that was used longest ago is read again when it is wanted', async (_, limits) => {
  const { web, asked } = await stsServer(enforced, ofSeveralMtaSts)
  const names = ['a.example', 'b.example', 'c.example']
  const resolver = zone(
    Object.fromEntries(
      names.flatMap((name): [string, Name][] => [
        [`_mta-sts.${name}`, { txt: [['v=STSv1; id=1']] }],
        [`mta-sts.${name}`, { a: ['127.0.0.1'] }],
      ]),
    ),
  )
  const mtaSts = new MtaSts({ resolver, web, ...limits })
  for (const name of ['a.example', 'b.example', 'a.example', 'c.example', 'a.example', 'b.example'])
    expect(await mtaSts.policyOf(name, anySignal)).toMatchObject({ mode: 'enforce' })
  expect(asked.map((text) => /mta-sts\.(\w)/.exec(text)![1])).toEqual(['a', 'b', 'c', 'b'])
})
