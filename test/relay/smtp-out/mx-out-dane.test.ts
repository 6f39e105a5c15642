/** Mail to hosts with TLSA records, by real DNS answers and mail hosts. */
import { getEventListeners, once } from 'node:events'
import { connect } from 'node:tls'
import type { Answer } from 'dns-packet'
import { expect, onTestFinished, test } from 'vitest'
import type { SiteTrouble } from '../../../src/delivery/transport.js'
import { MtaSts } from '../../../src/relay/tls/mta-sts.js'
import { mxTransport } from '../../../src/relay/smtp-out/mx-out.js'
import type { MxTransportOptions } from '../../../src/relay/smtp-out/mx-out-options.js'
import type { TlsaData } from '../../../src/relay/dns/dns-message.js'
import { shown, tlsa, x509, type Name } from '../dane-certificates.js'
import { addressOf, aliasTo, daneDomain, securesOf, tlsaEntry, type DaneDomain } from '../dane-domain.js'
import { dnsServer, type Entry } from '../dns-server.js'
import { mxTransportOf, serversAt } from './mx-out-fixture.js'
import { policyText, stsServer } from '../sts-web.js'
import { tlsServer } from '../tls-server.js'
import { greetedClient } from '../raw-client.js'
import { deliver, requestOf, someData } from '../request.js'
import { zone } from '../zone.js'

const mx = 'mx.example.net'
const right = [tlsa('3 1 1', x509('mx'))]
const wrong = [tlsa('3 1 1', x509('root'))]
const pkix = [tlsa('1 1 1', x509('mx')), tlsa('0 0 1', x509('root'))]

const only: MxTransportOptions = {
  dane: false,
  tlsPolicy: [{ destination: 'example.net', level: 'dane-only' }],
}

/** At no attempt anything leaves. */
async function expectWaiting(
  made: DaneDomain,
  status: string,
  says: RegExp,
  nexthop?: string,
): Promise<void> {
  const before = securesOf(made)
  for (const attempts of [0, 1, 9]) {
    const result = (await made.send(attempts, nexthop)) as SiteTrouble
    expect(result).toMatchObject({ kind: 'site', status })
    expect(result.reason).toMatch(says)
  }
  expect(securesOf(made)).toEqual(before)
}

test('mail goes over TLS to the host that the records name, with its name, whatever signed its certificate', async () => {
  const made = await daneDomain({
    [mx]: { certificate: shown('expired'), tlsa: [tlsa('3 0 1', x509('expired'))] },
  })
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  expect(securesOf(made)).toEqual([[true]])
})

test('a host that is another one hears of no mail, and mail goes to the next', async () => {
  const made = await daneDomain({
    'mx1.example.net': { certificate: shown('mx'), tlsa: wrong },
    'mx2.example.net': { certificate: undefined, tlsa: right },
    'mx3.example.net': { certificate: shown('mx'), tlsa: right },
  })
  expect(await made.send(9)).toMatchObject({ kind: 'delivered' })
  expect(securesOf(made)).toEqual([[], [], [true]])
})

test.each<[string, Name | undefined, string, RegExp]>([
  [
    'is another one',
    'other',
    '4.7.5',
    /^mx\.example\.net\[127\.0\.0\.2\]:\d+: the TLS handshake failed: the certificate matches no TLSA record of _\d+\._tcp\.mx\.example\.net$/,
  ],
  ['has no TLS', undefined, '4.7.4', /STARTTLS was not offered/],
])('where the only host %s mail waits', async (_, shownName, status, says) => {
  const certificate = shownName === undefined ? undefined : shown(shownName)
  const made = await daneDomain({ [mx]: { certificate, tlsa: [tlsa('3 0 1', x509('mx'))] } })
  await expectWaiting(made, status, says)
  expect(securesOf(made)).toEqual([[]])
})

test('a host that is another one hears nothing behind the handshake', async () => {
  const secured: string[] = []
  const server = await tlsServer(shown('mx'), {
    onSecure: (_socket, session, done) => {
      secured.push(String((session as { servername?: string }).servername))
      done()
    },
    onMailFrom: (_address, _session, done) => {
      secured.push('MAIL')
      done()
    },
  })
  const owner = `_${server.port}._tcp.${mx}`
  const dns = await dnsServer({
    [`A ${mx}`]: { answers: [addressOf(mx, '127.0.0.1')], isProven: true },
    [`AAAA ${mx}`]: { isProven: true },
    [`TLSA ${owner}`]: tlsaEntry(owner, wrong),
  })
  const transport = mxTransportOf({
    tls: 'opportunistic',
    dane: true,
    daneServers: [`127.0.0.1:${dns.server.port}`],
  })
  const nexthop = `[${mx}]:${server.port}`
  const send = (): unknown =>
    transport.deliver(requestOf(someData, { nexthop }), new AbortController().signal)
  expect(await send()).toMatchObject({ kind: 'site', status: '4.7.5' })
  expect(secured.filter((word) => word === 'MAIL')).toEqual([])
  dns.entries[`TLSA ${owner}`] = tlsaEntry(owner, right)
  expect(await send()).toMatchObject({ kind: 'delivered' })
  expect(secured.slice(-2)).toEqual([mx, 'MAIL'])
})

test('a chain to an issuer that a record names is one for the host, or for the domain', async () => {
  const issuer = [tlsa('2 1 1', x509('issuer'))]
  const made = await daneDomain({
    'mx1.example.net': { certificate: shown('other', 'issuer'), tlsa: issuer },
    'mx2.example.net': { certificate: shown('byForged', 'forgedIssuer', 'issuer'), tlsa: issuer },
    'mx3.example.net': { certificate: shown('mx'), tlsa: issuer },
    'mx4.example.net': { certificate: shown('domain', 'issuer'), tlsa: issuer },
  })
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  expect(securesOf(made)).toEqual([[], [], [], [true]])
})

test('the domain is no name for a host that is named itself', async () => {
  const made = await daneDomain({
    [mx]: { certificate: shown('domain', 'issuer'), tlsa: [tlsa('2 1 1', x509('issuer'))] },
  })
  await expectWaiting(
    made,
    '4.7.5',
    /is for DNS:example\.net, not for mx\.example\.net$/,
    `[${mx}]:${made.port}`,
  )
  expect(securesOf(made)).toEqual([[]])
})

test('an issuer that the record holds needs not be shown', async () => {
  for (const form of ['2 0 0', '2 1 0'] as const) {
    const made = await daneDomain({ [mx]: { certificate: shown('mx'), tlsa: [tlsa(form, x509('issuer'))] } })
    expect(await made.send()).toMatchObject({ kind: 'delivered' })
  }
})

test.each<[string, readonly TlsaData[]]>([
  ['mean roots', pkix],
  ['have a form that nobody knows', [{ ...right[0]!, matchingType: 7 }]],
  ['are too short', [{ ...right[0]!, certificate: Buffer.alloc(20) }]],
])('records that %s ask for TLS with anybody, and never for plaintext', async (_, records) => {
  const made = await daneDomain({ [mx]: { certificate: shown('other'), tlsa: records } })
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  expect(securesOf(made)).toEqual([[true]])
  await expectWaiting(
    await daneDomain({ [mx]: { certificate: undefined, tlsa: records } }),
    '4.7.4',
    /not offered/,
  )
})

const unanswered: readonly [string, Entry, RegExp][] = [
  ['SERVFAIL', { rcode: 2 }, /^mx\.example\.net\[.*TLSA of _\d+\._tcp\.mx\.example\.net: ESERVFAIL$/],
  ['REFUSED', { rcode: 5 }, /EREFUSED/],
  ['silence', { isSilent: true }, /no answer in time/],
  [
    'an answer that is cut off',
    { instead: (usual) => [usual.subarray(0, -1)], answers: [] },
    /no answer in time|EBADRESP/,
  ],
]

test.each(unanswered)(
  'where the records are asked for and there is %s, mail waits',
  async (_, entry, says) => {
    const made = await daneDomain(
      { [mx]: { certificate: shown('mx'), tlsa: right } },
      { lookupTimeoutMs: 300 },
    )
    made.entries[`TLSA _${made.port}._tcp.${mx}`] = entry
    await expectWaiting(made, '4.7.5', says)
    expect(made.servers[0]!.sessionCount()).toBe(0)
  },
)

test('such a host is passed over for the next, though a session waits at it', async () => {
  const made = await daneDomain({
    'mx1.example.net': { certificate: shown('mx') },
    'mx2.example.net': { certificate: shown('mx'), tlsa: right },
  })
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  made.entries[`TLSA _${made.port}._tcp.mx1.example.net`] = { rcode: 2 }
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  expect(securesOf(made)).toEqual([[true], [true]])
})

test.each<[string, Entry]>([
  ['proven that there are no such names', { rcode: 3, isProven: true }],
  ['proven that there are no records', { isProven: true }],
  ['said without proof', { rcode: 3 }],
])('where it is %s, mail goes as without DANE', async (_, entry) => {
  for (const certificate of [undefined, shown('other')]) {
    const made = await daneDomain({ [mx]: { certificate } })
    made.entries[`TLSA _${made.port}._tcp.${mx}`] = entry
    expect(await made.send()).toMatchObject({ kind: 'delivered' })
    expect(securesOf(made)).toEqual([[certificate !== undefined]])
  }
})

test('records without proof are none', async () => {
  const made = await daneDomain({ [mx]: { certificate: undefined, tlsa: wrong } })
  const name = `TLSA _${made.port}._tcp.${mx}`
  made.entries[name] = { ...made.entries[name]!, isProven: false }
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
})

test('of a host whose addresses are not proven nobody asks for records', async () => {
  const made = await daneDomain({ [mx]: { certificate: undefined, tlsa: right } })
  made.entries[`A ${mx}`] = { ...made.entries[`A ${mx}`]!, isProven: false }
  made.entries[`AAAA ${mx}`] = { isProven: false }
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  expect(made.asked.filter((word) => word.startsWith('TLSA'))).toEqual([])
})

test.each(['A', 'AAAA'])(
  'a host with one kind of addresses that is proven is held to its records: %s',
  async (proven) => {
    const made = await daneDomain({ [mx]: { certificate: shown('mx'), tlsa: wrong } })
    const six: Answer = { type: 'AAAA', name: mx, ttl: 60, data: '::1' }
    made.entries[`A ${mx}`] = { answers: [addressOf(mx, '127.0.0.2')], isProven: proven === 'A' }
    made.entries[`AAAA ${mx}`] = { answers: [six], isProven: proven === 'AAAA' }
    expect(await made.send(9)).toMatchObject({ kind: 'site' })
    expect(securesOf(made)).toEqual([[]])
  },
)

test('hosts that are named without proof are held to their records all the same', async () => {
  const made = await daneDomain({ [mx]: { certificate: shown('mx'), tlsa: right } })
  made.entries['MX example.net'] = { ...made.entries['MX example.net']!, isProven: false }
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  made.entries[`TLSA _${made.port}._tcp.${mx}`] = tlsaEntry(`_${made.port}._tcp.${mx}`, wrong)
  await expectWaiting(made, '4.7.5', /matches no TLSA record/)
})

test('without mail hosts the domain is held to its own records', async () => {
  const made = await daneDomain({ 'example.net': { certificate: shown('domain'), tlsa: wrong } })
  made.entries['MX example.net'] = { isProven: true }
  await expectWaiting(made, '4.7.5', /matches no TLSA record of _\d+\._tcp\.example\.net/)
  expect(securesOf(made)).toEqual([[]])
})

interface Aliased {
  readonly made: DaneDomain
  readonly setTlsa: (name: string, records: readonly TlsaData[] | Entry) => void
}

/** `mx.example.net` is another name for `real.example`. */
async function aliased(isProven: boolean): Promise<Aliased> {
  const made = await daneDomain({ [mx]: { certificate: shown('mx') } })
  const answers = [aliasTo(mx, 'real.example'), addressOf('real.example', '127.0.0.2')]
  made.entries[`A ${mx}`] = { answers, isProven }
  made.entries[`AAAA ${mx}`] = { answers: answers.slice(0, 1), isProven }
  return {
    made,
    setTlsa: (name, records) => {
      const owner = `_${made.port}._tcp.${name}`
      made.entries[`TLSA ${owner}`] =
        'length' in records ? tlsaEntry(owner, records as readonly TlsaData[]) : (records as Entry)
    },
  }
}

test('where an alias leads to the records are, and else where it begins', async () => {
  const { made, setTlsa } = await aliased(true)
  setTlsa('real.example', right)
  setTlsa(mx, wrong)
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  setTlsa('real.example', { rcode: 3, isProven: true })
  await expectWaiting(made, '4.7.5', /matches no TLSA record of _\d+\._tcp\.mx\.example\.net/)
  setTlsa('real.example', { rcode: 2 })
  setTlsa(mx, right)
  await expectWaiting(made, '4.7.5', /real\.example: ESERVFAIL/)
})

test('of an alias that leads out of what is signed its beginning counts when it is proven', async () => {
  const { made, setTlsa } = await aliased(false)
  const answers = [aliasTo(mx, 'real.example')]
  setTlsa('real.example', right)
  setTlsa(mx, wrong)
  made.entries[`CNAME ${mx}`] = { answers, isProven: false }
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  made.entries[`CNAME ${mx}`] = { answers, isProven: true }
  await expectWaiting(made, '4.7.5', /matches no TLSA record of _\d+\._tcp\.mx\.example\.net/)
  made.entries[`CNAME ${mx}`] = { rcode: 2 }
  await expectWaiting(made, '4.7.5', /CNAME of mx\.example\.net: ESERVFAIL/)
})

test('a session that was opened under records serves no others, and under the same in another order it does', async () => {
  const two = [right[0]!, tlsa('3 0 1', x509('mx'))]
  const made = await daneDomain({ [mx]: { certificate: shown('mx'), tlsa: two } })
  const name = `_${made.port}._tcp.${mx}`
  const set = (records: readonly TlsaData[]): unknown =>
    (made.entries[`TLSA ${name}`] = tlsaEntry(name, records))
  await made.send()
  set(two.toReversed())
  await made.send()
  expect(made.servers[0]!.sessionCount()).toBe(1)
  set(right)
  await made.send()
  expect(made.servers[0]!.sessionCount()).toBe(2)
  set(pkix)
  await made.send()
  made.entries[`TLSA ${name}`] = { rcode: 3, isProven: true }
  await made.send()
  expect(made.servers[0]!.sessionCount()).toBe(4)
  set(wrong)
  await expectWaiting(made, '4.7.5', /matches no/)
})

test('domains with the same host share its sessions where no name of theirs counts, and else have their own', async () => {
  for (const [records, sessionCount] of [
    [right, 1],
    [[tlsa('2 1 1', x509('issuer'))], 2],
  ] as const) {
    const made = await daneDomain({ [mx]: { certificate: shown('mx', 'issuer'), tlsa: records } })
    const data = { preference: 0, exchange: mx }
    made.entries['MX other.example'] = {
      answers: [{ type: 'MX', name: 'other.example', ttl: 60, data }],
      isProven: true,
    }
    expect(await made.send()).toMatchObject({ kind: 'delivered' })
    expect(await made.send(0, 'other.example')).toMatchObject({ kind: 'delivered' })
    expect(made.servers[0]!.sessionCount()).toBe(sessionCount)
  }
})

test('a server that goes on with a session from before shows no certificates, and proves nothing', async () => {
  const made = await daneDomain({ [mx]: { certificate: shown('mx'), tlsa: right } })
  const client = await greetedClient(made.port, '127.0.0.2')
  await client.say('STARTTLS')
  client.socket.removeAllListeners('data')
  const secure = connect({ socket: client.socket, servername: mx, rejectUnauthorized: false })
  onTestFinished(() => void secure.destroy())
  const [session] = (await once(secure, 'session')) as [Buffer]
  const transport = mxTransportOf({
    port: made.port,
    tls: 'opportunistic',
    dane: true,
    daneServers: [made.daneServer],
    tlsOptions: { session },
  })
  const { reason } = (await deliver(transport)) as SiteTrouble
  expect(reason).toMatch(/a session was used again/)
})

const offering = ['PIPELINING', 'STARTTLS']

test('plaintext that a host without records fell back to is none when it has some', async () => {
  const { servers, port } = await serversAt(
    { '127.0.0.1': (line) => (line === 'STARTTLS' ? { reply: '220 go', does: 'babble' } : undefined) },
    offering,
  )
  const owner = `_${port}._tcp.${mx}`
  const dns = await dnsServer({
    [`A ${mx}`]: { answers: [addressOf(mx, '127.0.0.1')], isProven: true },
    [`AAAA ${mx}`]: { isProven: true },
    [`TLSA ${owner}`]: { rcode: 3, isProven: true },
  })
  const daneServers = [`127.0.0.1:${dns.server.port}`]
  const transport = mxTransportOf({ port, tls: 'opportunistic', dane: true, daneServers })
  const send = (): unknown =>
    transport.deliver(requestOf(someData, { nexthop: `[${mx}]`, attempts: 3 }), new AbortController().signal)
  expect(await send()).toMatchObject({ kind: 'delivered' })
  dns.entries[`TLSA ${owner}`] = tlsaEntry(owner, right)
  expect(await send()).toMatchObject({ kind: 'site', status: '4.7.5' })
  expect(servers[0]!.taken).toHaveLength(1)
})

test('a line of the table asks for DANE where it is off, and goes before it where it is on', async () => {
  for (const [dane, level] of [
    [false, 'dane'],
    [true, 'dane-only'],
  ] as const) {
    const made = await daneDomain(
      { [mx]: { certificate: shown('mx'), tlsa: wrong } },
      { dane, tls: 'none', tlsPolicy: [{ destination: `[${mx}]`, level }] },
    )
    const nexthop = `[${mx}]:${made.port}`
    await expectWaiting(made, '4.7.5', /matches no TLSA record/, nexthop)
    made.entries[`TLSA _${made.port}._tcp.${mx}`] = { rcode: 3, isProven: true }
    const kind = level === 'dane' ? 'delivered' : 'site'
    expect(await made.send(0, nexthop)).toMatchObject({ kind })
    expect(securesOf(made)).toEqual([level === 'dane' ? [true] : []])
  }
})

test('under dane-only mail waits where DANE says nothing', async () => {
  const made = await daneDomain({ [mx]: { certificate: shown('mx'), tlsa: right } }, only)
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  const name = `_${made.port}._tcp.${mx}`
  made.entries[`TLSA ${name}`] = tlsaEntry(name, pkix)
  await expectWaiting(made, '4.7.5', /no TLSA record of _\d+\._tcp\.mx\.example\.net can be used/)
  made.entries[`TLSA ${name}`] = { isProven: true }
  await expectWaiting(made, '4.7.5', /mx\.example\.net has no TLSA records/)
  made.entries[`A ${mx}`] = { ...made.entries[`A ${mx}`]!, isProven: false }
  await expectWaiting(made, '4.7.5', /no address of mx\.example\.net is proven \(DNSSEC\)/)
})

test('under dane-only mail waits when nobody has proven which the mail hosts are', async () => {
  const made = await daneDomain({ [mx]: { certificate: shown('mx'), tlsa: right } }, only)
  made.entries['MX example.net'] = { ...made.entries['MX example.net']!, isProven: false }
  await expectWaiting(made, '4.7.5', /the mail hosts of example\.net are not proven \(DNSSEC\)/)
  expect(securesOf(made)).toEqual([[]])
})

test('an address has no records: mail goes as without DANE, and under dane-only it waits', async () => {
  const host = { [mx]: { certificate: shown('mx') } }
  const made = await daneDomain(host)
  expect(await made.send(0, `[127.0.0.2]:${made.port}`)).toMatchObject({ kind: 'delivered' })
  const strict = await daneDomain(host, {
    tlsPolicy: [{ destination: '[127.0.0.2]', level: 'dane-only' }],
  })
  await expectWaiting(strict, '4.7.5', /no address of 127\.0\.0\.2 is proven/, `[127.0.0.2]:${strict.port}`)
  expect([...made.asked, ...strict.asked]).toEqual([])
})

test('what the DNS does not know puts mail off, and what is not there ends it, as without DANE', async () => {
  const made = await daneDomain({ [mx]: { certificate: shown('mx'), tlsa: right } })
  made.entries[`A ${mx}`] = { rcode: 2 }
  expect(await made.send()).toEqual({ kind: 'site', status: '4.4.3', reason: `A of ${mx}: ESERVFAIL` })
  made.entries['MX example.net'] = { rcode: 2 }
  expect(await made.send()).toEqual({ kind: 'site', status: '4.4.3', reason: 'MX of example.net: ESERVFAIL' })
  made.entries['MX example.net'] = { rcode: 3 }
  expect(await made.send()).toMatchObject({ kind: 'failed', status: '5.1.2' })
})

/** Whose policy asks for these mail hosts. */
async function stsFor(...hosts: string[]): Promise<MtaSts> {
  const { web } = await stsServer(policyText('enforce', hosts))
  const resolver = zone({
    '_mta-sts.example.net': { txt: [['v=STSv1; id=1;']] },
    'mta-sts.example.net': { a: ['127.0.0.1'] },
  })
  return new MtaSts({ resolver, web })
}

test('records that can be used go before an MTA-STS policy, for better and for worse', async () => {
  const mtaSts = await stsFor('mx.other.example')
  const made = await daneDomain({ [mx]: { certificate: shown('mx'), tlsa: right } }, { mtaSts })
  // Neither root nor name would do.
  expect(await made.send()).toMatchObject({ kind: 'delivered' })
  const allowing = await daneDomain(
    { [mx]: { certificate: shown('mx', 'issuer', 'root'), tlsa: wrong } },
    { mtaSts: await stsFor(mx), tlsOptions: { ca: x509('root').toString() } },
  )
  await expectWaiting(allowing, '4.7.5', /matches no TLSA record/)
})

test('of mail hosts that are named without proof the policy says which they are', async () => {
  const made = await daneDomain(
    { [mx]: { certificate: shown('mx'), tlsa: right } },
    { mtaSts: await stsFor('mx.other.example') },
  )
  made.entries['MX example.net'] = { ...made.entries['MX example.net']!, isProven: false }
  await expectWaiting(made, '4.4.4', /the MTA-STS policy of example\.net has none of its mail hosts/)
  expect(securesOf(made)).toEqual([[]])
})

test.each<[string, readonly TlsaData[] | undefined]>([
  ['no records', undefined],
  ['none that can be used', pkix],
])('a host with %s is held to the policy', async (_, records) => {
  const host = records === undefined ? {} : { tlsa: records }
  const made = await daneDomain(
    { [mx]: { certificate: shown('mx', 'issuer'), ...host } },
    { mtaSts: await stsFor(mx) },
  )
  await expectWaiting(made, '4.7.5', /the TLS handshake failed: .*certificate/)
  const stranger = await daneDomain(
    { [mx]: { certificate: shown('mx'), ...host } },
    { mtaSts: await stsFor('mx.other.example') },
  )
  await expectWaiting(stranger, '4.7.5', /none of the hosts of the domain's MTA-STS policy/)
  expect([...securesOf(made), ...securesOf(stranger)]).toEqual([[], []])
})

test('an attempt that is abandoned while records are asked for is over, and leaves nothing', async () => {
  const made = await daneDomain({ [mx]: { certificate: shown('mx'), tlsa: right } })
  made.entries[`TLSA _${made.port}._tcp.${mx}`] = { isSilent: true }
  const controller = new AbortController()
  const result = made.send(0, 'example.net', controller.signal)
  await expect.poll(() => made.asked.at(-1)).toMatch(/^TLSA/)
  controller.abort()
  expect(await result).toMatchObject({ kind: 'site' })
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
})

test.each<[string, object, string, RegExp]>([
  ['no yes or no', { dane: 'yes' }, 'dane', /true or false/],
  ['no list of servers', { dane: true, daneServers: '127.0.0.1' }, 'daneServers', /addresses/],
  ['no server', { dane: true, daneServers: [] }, 'daneServers', /addresses/],
  [
    'a server that is a name',
    { dane: true, daneServers: ['localhost'] },
    'daneServers',
    /localhost is no address/,
  ],
  ['a port that is none', { dane: true, daneServers: ['127.0.0.1:0'] }, 'daneServers', /is no address/],
  ['a DNS that proves nothing', { dane: true, resolver: zone({}) }, 'resolver', /validated answers/],
  [
    'the same for a line',
    { tlsPolicy: [{ destination: 'example.net', level: 'dane' }], resolver: zone({}) },
    'resolver',
    /validated answers/,
  ],
])('%s is refused where it is given', (_, options, option, says) => {
  const make = (): unknown => mxTransport(options)
  expect(make).toThrow(says)
  expect(make).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', place: { option } }))
})
