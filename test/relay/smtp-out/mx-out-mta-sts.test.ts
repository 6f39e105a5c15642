/** Mail to domains with an MTA-STS policy, by real DNS answers, web server and mail hosts. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { DeliveryResult, SiteTrouble } from '../../../src/delivery/transport.js'
import { MtaSts } from '../../../src/relay/tls/mta-sts.js'
import { mxTransport } from '../../../src/relay/smtp-out/mx-out.js'
import type { MxTransportOptions } from '../../../src/relay/smtp-out/mx-out-options.js'
import type { MxResolver } from '../../../src/relay/dns/dns-questions.js'
import { mxTransportOf } from './mx-out-fixture.js'
import {
  ofAllBelow,
  ofCommonProvider,
  ofDomain,
  ofProvider,
  ofStranger,
  roots,
  type Certificate,
} from '../named-certificates.js'
import { deliver, requestOf, someData } from '../request.js'
import { policyText, stsServer, type Page } from '../sts-web.js'
import { tlsServersAt, type TlsServer } from '../tls-server.js'
import { zone, type FakeDns, type Name } from '../zone.js'

type Hosts = Readonly<Record<string, Certificate | undefined>>

interface Domain {
  readonly servers: TlsServer[]
  readonly dns: FakeDns
  readonly names: Record<string, Name>
  readonly asked: string[]
  readonly mtaSts: MtaSts
  send(attempts?: number, nexthop?: string, signal?: AbortSignal): Promise<DeliveryResult>
}

/** `example.net`, with mail hosts by name, the first one the best. */
async function domain(
  page: Page,
  hosts: Hosts,
  options: MxTransportOptions = {},
  addresses: readonly string[] = Object.keys(hosts).map((_, i) => `127.0.0.${i + 2}`),
): Promise<Domain> {
  const names = Object.keys(hosts)
  const { servers, port } = await tlsServersAt(
    Object.fromEntries(addresses.map((address, i) => [address, hosts[names[i]!]])),
  )
  const { web, asked } = await stsServer(page)
  const known: Record<string, Name> = {
    'example.net': { mx: names.map((name, i) => [i, name] as const) },
    '_mta-sts.example.net': { txt: [['v=STSv1; id=1;']] },
    'mta-sts.example.net': { a: ['127.0.0.1'] },
    ...Object.fromEntries(names.map((name, i) => [name, { a: [addresses[i]!] }])),
  }
  const dns = zone(known)
  const mtaSts = new MtaSts({ resolver: dns, web })
  const transport = mxTransportOf({
    port,
    resolver: dns,
    tls: 'opportunistic',
    tlsOptions: { ca: [...roots] },
    mtaSts,
    ...options,
  })
  const send: Domain['send'] = async (
    attempts = 0,
    nexthop = 'example.net',
    signal = new AbortController().signal,
  ) => transport.deliver(requestOf(someData, { attempts, nexthop }), signal)
  return { servers, dns, names: known, asked, mtaSts, send }
}

const securesOf = ({ servers }: Domain): boolean[][] =>
  servers.map(({ taken }) => taken.map(({ secure }) => secure))

const provider = 'mx.provider.example'

test('mail goes to the mail hosts that the policy has, over TLS that is verified for their names', async () => {
  const made = await domain(policyText('enforce', [provider, '*.example.net']), {
    'mx.other.example': ofStranger,
    [provider]: ofStranger,
    'mx1.example.net': undefined,
    'mx2.example.net': ofAllBelow,
  })
  expect(await made.send(3)).toMatchObject({ kind: 'delivered' })
  expect(securesOf(made)).toEqual([[], [], [], [true]])
  expect(made.servers[0]!.sessionCount()).toBe(0)
})

test('a session is used again for mail to a domain with the same demand, and for no other', async () => {
  const made = await domain(policyText('enforce', [provider]), { [provider]: ofProvider })
  for (const attempts of [0, 1, 2]) await made.send(attempts)
  expect(made.servers[0]!.sessionCount()).toBe(1)
  expect(made.asked).toHaveLength(1)
})

test.each<[string, Certificate | undefined, string, RegExp]>([
  ['no TLS', undefined, '4.7.4', /STARTTLS was not offered/],
  ['a certificate of no root', ofStranger, '4.7.5', /self-signed certificate/],
  ['a certificate for the domain instead', ofDomain, '4.7.5', /not for mx\.provider\.example/],
  [
    'a certificate without alternative names',
    ofCommonProvider,
    '4.7.5',
    /for no alternative name, not for mx\.provider\.example/,
  ],
])('where the only mail host has %s mail waits, at every attempt', async (_, certificate, status, says) => {
  const made = await domain(policyText('enforce', [provider]), { [provider]: certificate })
  for (const attempts of [0, 1, 9]) {
    const result = (await made.send(attempts)) as SiteTrouble
    expect(result).toMatchObject({ kind: 'site', status })
    expect(result.reason).toMatch(says)
  }
  expect(securesOf(made)).toEqual([[]])
})

test('where no mail host is one of the policy mail waits, and none is connected to', async () => {
  const made = await domain(policyText('enforce', ['*.example.net']), { [provider]: ofProvider })
  expect(await made.send(9)).toEqual({
    kind: 'site',
    status: '4.4.4',
    reason: 'the MTA-STS policy of example.net has none of its mail hosts',
  })
  expect(made.servers[0]!.sessionCount()).toBe(0)
})

test.each<[string, Name, object]>([
  [
    'has none',
    {},
    { status: '4.4.4', reason: 'no mail host of example.net that its MTA-STS policy has has an address' },
  ],
  ['is not known', { a: 'ESERVFAIL' }, { status: '4.4.3', reason: 'A of mx.example.net: ESERVFAIL' }],
])('where the address of the only mail host of the policy %s that is what is told', async (_, name, told) => {
  const made = await domain(policyText('enforce', ['*.example.net']), {
    [provider]: ofProvider,
    'mx.example.net': ofAllBelow,
    'mx.other.example': ofStranger,
  })
  made.names['mx.example.net'] = name
  made.names['mx.other.example'] = { a: 'ETIMEOUT' }
  expect(await made.send()).toEqual({ kind: 'site', ...told })
})

test.each<[string, Name]>([
  ['a null MX', { mx: [[0, '']] }],
  ['no mail host with an address', { mx: [[1, 'gone.example.net']] }],
  ['ourselves as the only mail host', { mx: [[1, 'relay.example.org']] }],
])('mail under a policy waits where the DNS says that there is %s', async (_, name) => {
  const { web } = await stsServer(policyText('enforce', ['*.example.net']))
  const dns = zone({
    'example.net': name,
    '_mta-sts.example.net': { txt: [['v=STSv1; id=1;']] },
    'mta-sts.example.net': { a: ['127.0.0.1'] },
  })
  const transport = mxTransportOf({
    resolver: dns,
    hostname: 'relay.example.org',
    mtaSts: new MtaSts({ resolver: dns, web }),
  })
  const result = await transport.deliver(
    requestOf(someData, { nexthop: 'example.net', recipients: ['r@example.net'] }),
    new AbortController().signal,
  )
  expect(result).toMatchObject({ kind: 'site', status: '4.4.4' })
})

test('of two names of one address the one that proves itself has the mail', async () => {
  const made = await domain(
    policyText('enforce', [provider, 'mx.other.example']),
    { 'mx.other.example': ofProvider, [provider]: ofProvider },
    {},
    ['127.0.0.2', '127.0.0.2'],
  )
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
})

test('better mail hosts that the policy does not have take nobody else from the addresses that are tried', async () => {
  const others = Object.fromEntries([1, 2, 3, 4, 5, 6].map((i) => [`h${i}.other.example`, ofStranger]))
  const made = await domain(policyText('enforce', [provider]), { ...others, [provider]: ofProvider })
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  expect(securesOf(made).at(-1)).toEqual([true])
})

test.each(['testing', 'none'])('%s asks for nothing', async (mode) => {
  const made = await domain(policyText(mode, ['*.example.net']), { [provider]: undefined })
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  expect(made.asked).toHaveLength(1)
})

test('a transport that is closed takes no policy from another one that waits for it, too', async () => {
  let answer: (() => void) | undefined
  const made = await domain(
    (_, response) => {
      answer = () =>
        void response.setHeader('content-type', 'text/plain').end(policyText('enforce', [provider]))
    },
    { [provider]: undefined },
  )
  const sent = made.send()
  await expect.poll(() => answer).toBeDefined()
  mxTransport({ mtaSts: made.mtaSts, resolver: made.dns }).close?.()
  answer!()
  expect(await sent).toMatchObject({ kind: 'site', status: '4.7.4' })
})

test('a policy that cannot be read is none', async () => {
  const made = await domain((_, response) => void response.writeHead(500).end(), { [provider]: undefined })
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
})

test.each<[string, NonNullable<MxTransportOptions['tlsPolicy']>[number]['level'], object]>([
  ['may', 'may', { kind: 'delivered' }],
  ['encrypt', 'encrypt', { kind: 'site', status: '4.7.4' }],
])('a line of the table goes before it: %s', async (_, level, result) => {
  const made = await domain(
    policyText('enforce', ['*.example.net']),
    { [provider]: undefined },
    {
      tlsPolicy: [{ destination: 'example.net', level }],
    },
  )
  expect(await made.send()).toMatchObject(result)
  expect(made.asked).toEqual([])
  expect(made.dns.questions.filter((question) => question.startsWith('TXT'))).toEqual([])
})

test('a host that an operator names has no policy, nor is a domain asked that is below one', async () => {
  const made = await domain(policyText('enforce', ['*.example.net']), { 'example.net': undefined })
  const [{ port }] = made.servers as [TlsServer]
  expect(await made.send(0, `[127.0.0.2]:${port}`)).toMatchObject({ kind: 'delivered' })
  await made.send(0, `[example.net]:${port}`)
  await made.send(0, 'a.example.net')
  expect(made.dns.questions.filter((question) => question.startsWith('TXT'))).toEqual([
    'TXT _mta-sts.a.example.net',
  ])
  expect(made.asked).toEqual([])
})

test('a transport that encrypts nothing does for a domain that asks for it', async () => {
  const made = await domain(policyText('enforce', [provider]), { [provider]: ofProvider }, { tls: 'none' })
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  expect(securesOf(made)).toEqual([[true]])
})

test('an attempt that is abandoned while it waits for a policy is over, and nobody has the mail', async () => {
  const made = await domain(() => {}, { [provider]: ofProvider })
  const controller = new AbortController()
  const result = made.send(0, 'example.net', controller.signal)
  await expect.poll(() => made.asked.length).toBe(1)
  controller.abort()
  expect(await result).toMatchObject({ kind: 'site', reason: expect.stringContaining('abandoned') as string })
  expect(made.servers[0]!.sessionCount()).toBe(0)
  expect(made.dns.questions).not.toContain('MX example.net')
})

test('closing the transport ends what is asked, and the attempt, which does not go on without the policy', async () => {
  const { web, asked } = await stsServer(() => {})
  const resolver = zone({
    '_mta-sts.example.net': { txt: [['v=STSv1; id=1;']] },
    'mta-sts.example.net': { a: ['127.0.0.1'] },
  })
  const transport = mxTransport({ resolver, mtaSts: new MtaSts({ resolver, web, timeoutMs: 60_000 }) })
  const result = deliver(transport)
  await expect.poll(() => asked.length).toBe(1)
  transport.close!()
  const late = sleep(10_000, 'late', { ref: false })
  expect(await Promise.race([result, late])).toMatchObject({
    kind: 'site',
    reason: expect.stringContaining('abandoned') as string,
  })
  expect(resolver.questions).not.toContain('MX example.net')
})

test('by default nothing is asked; by the option itself it is', async () => {
  for (const [mtaSts, count] of [
    [undefined, 0],
    [false, 0],
    [true, 1],
  ] as const) {
    const resolver = zone({})
    await deliver(mxTransportOf({ resolver, ...(mtaSts === undefined ? undefined : { mtaSts }) }))
    expect(resolver.questions.filter((question) => question.startsWith('TXT'))).toHaveLength(count)
  }
})

test('what is no such option, and a resolver that has no texts, are refused', () => {
  const resolver: MxResolver = { ...zone({}) }
  delete resolver.resolveTxt
  for (const [options, option] of [
    [{ mtaSts: 'yes' }, 'mtaSts'],
    [{ mtaSts: true, resolver }, 'resolver'],
  ] as const)
    expect(() => mxTransport(options as MxTransportOptions)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', place: { option } }),
    )
})
