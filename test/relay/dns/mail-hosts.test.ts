import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { seededPrng } from '../../../src/base/prng.js'
import { DnsQuestions, type MxResolver } from '../../../src/relay/dns/dns-questions.js'
import { readNexthop } from '../../../src/relay/tables/nexthop.js'
import { mailHosts, type MailHosts, type OwnServers } from '../../../src/relay/dns/mail-hosts.js'
import { sourceAddressesOf, type SourceAddresses } from '../../../src/relay/dns/source-addresses.js'
import { zone, type Name } from '../zone.js'

interface Circumstances {
  readonly seed?: number
  readonly own?: Partial<OwnServers>
  readonly timeoutMs?: number
  readonly sources?: SourceAddresses
}

const hostsOf = (
  nexthop: string,
  resolver: MxResolver,
  { seed = 1, own = {}, timeoutMs = 60_000, sources }: Circumstances = {},
): Promise<MailHosts> =>
  mailHosts(readNexthop(nexthop, 25)!, {
    resolver,
    questions: new DnsQuestions(systemClock, timeoutMs),
    own: { hostname: 'relay.example.org', listeners: [], ...own },
    prng: seededPrng(seed),
    sources,
  })

/** `a 192.0.2.1` */
async function listOf(...args: Parameters<typeof hostsOf>): Promise<string[]> {
  const hosts = await hostsOf(...args)
  if ('kind' in hosts) throw new Error(hosts.kind)
  return hosts.map(({ name, address }) => `${name} ${address}`)
}

test('mail hosts are tried by preference, whatever the order of the records', async () => {
  const dns = zone({
    'example.net': {
      mx: [
        [20, 'b'],
        [30, 'c'],
        [10, 'A.'],
      ],
    },
    a: { a: ['192.0.2.1'] },
    b: { a: ['192.0.2.2'] },
    c: { a: ['192.0.2.3'] },
  })
  expect(await listOf('example.net', dns)).toEqual(['a 192.0.2.1', 'b 192.0.2.2', 'c 192.0.2.3'])
})

test('among equals chance decides, and one seed decides the same way twice', async () => {
  const dns = zone({
    'example.net': {
      mx: [
        [5, 'best'],
        [10, 'a'],
        [10, 'b'],
        [10, 'c'],
      ],
    },
    best: { a: ['192.0.2.9'] },
    a: { a: ['192.0.2.1'] },
    b: { a: ['192.0.2.2'] },
    c: { a: ['192.0.2.3'] },
  })
  const orders = new Set<string>()
  for (let seed = 0; seed < 100; seed++) {
    const list = await listOf('example.net', dns, { seed })
    expect(list[0]).toBe('best 192.0.2.9')
    expect(await listOf('example.net', dns, { seed })).toEqual(list)
    orders.add(list.join())
  }
  expect(orders.size).toBe(6)
})

test('a domain without MX records is its own mail host, with the addresses of both families', async () => {
  const dns = zone({ 'example.net': { a: ['192.0.2.1'], aaaa: ['2001:db8::1'] } })
  expect((await listOf('example.net', dns)).toSorted()).toEqual([
    'example.net 192.0.2.1',
    'example.net 2001:db8::1',
  ])
})

test('where one family alone is used, the hosts of the other are passed over, and mail for them alone waits', async () => {
  const dns = zone({
    'example.net': {
      mx: [
        [10, 'six'],
        [20, 'both'],
      ],
    },
    six: { aaaa: ['2001:db8::1'] },
    both: { a: ['192.0.2.1'], aaaa: ['2001:db8::2'] },
  })
  const ipv4 = { sources: sourceAddressesOf(['0.0.0.0']) }
  expect(await listOf('example.net', dns, ipv4)).toEqual(['both 192.0.2.1'])
  expect(await hostsOf('[six]', dns, ipv4)).toEqual({
    kind: 'site',
    status: '4.4.4',
    reason: 'no mail host of six has an address of IPv4',
  })
})

test('mail that no host of the family that is used is known for waits for the answer of the DNS', async () => {
  const dns = zone({ 'example.net': { a: 'silent', aaaa: ['2001:db8::1'] } })
  const hosts = await hostsOf('example.net', dns, {
    sources: sourceAddressesOf(['192.0.2.9']),
    timeoutMs: 10,
  })
  expect(hosts).toMatchObject({ kind: 'site', status: '4.4.3' })
})

test.each([
  ['[192.0.2.7]', '192.0.2.7 192.0.2.7'],
  ['[IPv6:2001:db8::7]', '2001:db8::7 2001:db8::7'],
  ['[mx.example.net]', 'mx.example.net 192.0.2.1'],
])('no MX records are asked for of %s', async (nexthop, host) => {
  const dns = zone({ 'mx.example.net': { mx: [[1, 'other']], a: ['192.0.2.1'] } })
  expect(await listOf(nexthop, dns)).toEqual([host])
  expect(dns.questions.filter((question) => question.startsWith('MX'))).toEqual([])
})

test('a mail host that is an address by mistake is that address', async () => {
  const dns = zone({ 'example.net': { mx: [[10, '192.0.2.5']] } })
  expect(await listOf('example.net', dns)).toEqual(['192.0.2.5 192.0.2.5'])
})

test('no more than five addresses are tried, each once, and no family crowds out the other', async () => {
  const addresses = (prefix: string): string[] => [1, 2, 3, 4, 5, 6].map((n) => `${prefix}${n}`)
  const family = (list: string[]): string => list.map((host) => (host.includes(':') ? '6' : '4')).join('')
  const both = zone({
    'example.net': {
      mx: [
        [10, 'six'],
        [20, 'four'],
        [30, 'four'],
      ],
    },
    six: { aaaa: addresses('2001:db8::') },
    four: { a: addresses('192.0.2.') },
  })
  expect(family(await listOf('example.net', both))).toBe('66444')
  const one = zone({ 'example.net': { aaaa: addresses('2001:db8::') } })
  expect(family(await listOf('example.net', one))).toBe('66666')
  const few = zone({ 'example.net': { aaaa: addresses('2001:db8::'), a: ['192.0.2.1'] } })
  const list = await listOf('example.net', few)
  expect(family(list).replaceAll('6', '')).toBe('4')
  expect(list).toHaveLength(5)
})

test('an address under two names is tried once, under the better one', async () => {
  const dns = zone({
    'example.net': {
      mx: [
        [10, 'a'],
        [20, 'b'],
      ],
    },
    a: { a: ['192.0.2.1'] },
    b: { a: ['192.0.2.1', '192.0.2.2'] },
  })
  expect(await listOf('example.net', dns)).toEqual(['a 192.0.2.1', 'b 192.0.2.2'])
})

test('a mail host whose name the DNS cannot carry is not there', async () => {
  const dns = zone({ 'example.net': { mx: [[10, 'a..b']] }, 'a..b': { a: 'EBADNAME', aaaa: 'EBADNAME' } })
  expect(await hostsOf('example.net', dns)).toMatchObject({ kind: 'failed', status: '5.4.4' })
})

test('as many addresses as answers of the DNS can hold keep nobody busy', async () => {
  const addresses = (prefix: string, count: number): string[] =>
    Array.from(
      { length: count },
      (_, i) => prefix + (i >> 8) + (prefix.endsWith('.') ? '.' : ':') + (i & 255),
    )
  const mx = Array.from({ length: 20 }, (_, i): [number, string] => [1, `h${i}`])
  const hosts = mx.map(([, name], i): [string, Name] => [
    name,
    { a: addresses(`10.${i}.`, 4000), aaaa: addresses(`2001:db8:${i}::`, 2300) },
  ])
  const dns = zone({ 'example.net': { mx }, ...Object.fromEntries(hosts) })
  const startMs = performance.now()
  const own = { listeners: [{ host: '0.0.0.0', port: 25 }] }
  expect(await listOf('example.net', dns, { own })).toHaveLength(5)
  // It took 300 µs for each address, and minutes for all.
  expect(performance.now() - startMs).toBeLessThan(10_000)
})

test('of a hundred mail hosts the twenty best are asked for', async () => {
  const mx = Array.from({ length: 100 }, (_, i): [number, string] => [i, `h${i}`])
  const dns = zone({ 'example.net': { mx }, h19: { a: ['192.0.2.19'] } })
  expect(await listOf('example.net', dns)).toEqual(['h19 192.0.2.19'])
  expect(dns.questions).toHaveLength(1 + 2 * 20)
  // Another one may have an address.
  expect(await hostsOf('example.net', zone({ 'example.net': { mx } }))).toMatchObject({
    kind: 'site',
    status: '4.4.4',
  })
})

test.each<[string, Name['mx']]>([
  ['one', [[0, '']]],
  ['one as it is written', [[0, '.']]],
])('a null MX fails for good: %s', async (_, mx) => {
  const dns = zone({ 'example.net': { ...(mx === undefined ? undefined : { mx }), a: ['192.0.2.1'] } })
  expect(await hostsOf('example.net', dns)).toMatchObject({ kind: 'failed', status: '5.1.10' })
})

/** What each question may come to. */
const answers = { records: undefined, none: 'ENODATA', 'no name': 'ENOTFOUND', unknown: 'ESERVFAIL' }
type Kind = keyof typeof answers
const kinds = Object.keys(answers) as Kind[]
const combinations = kinds.flatMap((mx) => kinds.flatMap((a) => kinds.map((aaaa) => ({ mx, a, aaaa }))))

function expected(mx: Kind, a: Kind, aaaa: Kind): string {
  if (mx === 'unknown') return 'site 4.4.3'
  if (a === 'records' || aaaa === 'records') return 'hosts'
  if (a === 'unknown' || aaaa === 'unknown') return 'site 4.4.3'
  return mx === 'no name' && a === 'no name' && aaaa === 'no name' ? 'failed 5.1.2' : 'failed 5.4.4'
}

test.each(combinations)('MX $mx, A $a, AAAA $aaaa', async ({ mx, a, aaaa }) => {
  const addresses = { a: answers[a] ?? ['192.0.2.1'], aaaa: answers[aaaa] ?? ['2001:db8::1'] }
  const dns = zone(
    mx === 'records'
      ? { 'example.net': { mx: [[10, 'host']] }, host: addresses }
      : { 'example.net': { mx: answers[mx]!, ...addresses } },
  )
  const hosts = await hostsOf('example.net', dns)
  const verdict = 'kind' in hosts && 'status' in hosts ? `${hosts.kind} ${hosts.status}` : 'hosts'
  expect(verdict).toBe(expected(mx, a, aaaa))
})

test.each([
  'ESERVFAIL',
  'ETIMEOUT',
  'ECONNREFUSED',
  'EREFUSED',
  'EFORMERR',
  'ENOTIMP',
  'EBADRESP',
  'ECANCELLED',
  'ENOMEM',
  'EDESTRUCTION',
  'EAI_AGAIN',
  'toString',
  '',
])('a resolver that says "%s" puts mail off', async (code) => {
  for (const name of [{ mx: code }, { a: code }, { aaaa: code }, { mx: [[1, 'host']] as const }]) {
    const dns = zone({ 'example.net': name, host: { a: code } })
    expect(await hostsOf('example.net', dns)).toMatchObject({ kind: 'site', status: '4.4.3' })
  }
})

test.each<[string, Name]>([
  ['mail hosts', { mx: 'silent' }],
  ['addresses', { a: 'silent' }],
])('a resolver that is silent about %s puts mail off in time', async (_, name) => {
  const verdict = await hostsOf('example.net', zone({ 'example.net': name }), { timeoutMs: 50 })
  expect(verdict).toMatchObject({
    kind: 'site',
    status: '4.4.3',
    reason: expect.stringMatching(/^(MX|A) of example\.net: no answer in time$/) as string,
  })
})

test('a host whose address nobody knows does not hide another one', async () => {
  const dns = zone({
    'example.net': {
      mx: [
        [10, 'lost'],
        [20, 'b'],
      ],
    },
    lost: { a: 'ESERVFAIL', aaaa: 'ETIMEOUT' },
    b: { a: ['192.0.2.2'] },
  })
  expect(await listOf('example.net', dns)).toEqual(['b 192.0.2.2'])
})

/** 10 `better`, 20 this relay and another, 30 `worse`. */
const backup = (own: string, better: Name = { a: ['192.0.2.1'] }): MxResolver =>
  zone({
    'example.net': {
      mx: [
        [10, 'better'],
        [20, own],
        [20, 'equal'],
        [30, 'worse'],
      ],
    },
    better,
    'relay.example.org': { a: ['192.0.2.2'] },
    own: { a: ['192.0.2.2'] },
    equal: { a: ['192.0.2.4'] },
    worse: { a: ['192.0.2.3'] },
  })
const listening = { listeners: [{ host: '192.0.2.2', port: 25 }] }

test.each<[string, string, Partial<OwnServers>]>([
  ['name', 'Relay.Example.ORG.', {}],
  ['address and port', 'own', listening],
])('a relay that is a mail host by %s delivers to better ones alone', async (_, name, own) => {
  expect(await listOf('example.net', backup(name), { own })).toEqual(['better 192.0.2.1'])
})

test.each<[string, string, Partial<OwnServers>]>([
  ['name', 'relay.example.org', {}],
  ['address and port', 'own', listening],
])('a relay that is a mail host by %s waits while no better one can be found', async (_, name, own) => {
  expect(await hostsOf('example.net', backup(name, {}), { own })).toMatchObject({
    kind: 'site',
    status: '4.4.4',
  })
  expect(await hostsOf('example.net', backup(name, { a: 'ETIMEOUT' }), { own })).toMatchObject({
    kind: 'site',
    status: '4.4.3',
  })
})

test('a mail host at our address is another one when it listens on another port', async () => {
  const own = { listeners: [{ host: '192.0.2.2', port: 2525 }] }
  const dns = zone({ 'example.net': { mx: [[10, 'own']] }, own: { a: ['192.0.2.2'] } })
  expect(await listOf('example.net', dns, { own })).toEqual(['own 192.0.2.2'])
})

const everywhere = (host: string): Partial<OwnServers> => ({ listeners: [{ host, port: 25 }] })
const outwards =
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal }) => !internal)?.address ?? '127.0.0.1'

test.each<[string, Record<string, Name>, Partial<OwnServers>]>([
  ['the best mail host by name', { 'example.net': { mx: [[1, 'relay.example.org']] } }, {}],
  ['the only one by address', { 'example.net': { mx: [[1, 'own']] }, own: { a: ['192.0.2.2'] } }, listening],
  [
    'one of the best',
    {
      'example.net': {
        mx: [
          [1, 'own'],
          [1, 'b'],
        ],
      },
      own: { a: ['192.0.2.2'] },
      b: { a: ['192.0.2.1'] },
    },
    listening,
  ],
  ['the domain itself', { 'example.net': { a: ['192.0.2.2'] } }, listening],
  ['the domain itself, by name', { 'example.net': { a: ['192.0.2.2'] } }, { hostname: 'Example.NET' }],
  ['at a loopback address', { 'example.net': { a: ['127.0.0.9'] } }, everywhere('0.0.0.0')],
  ['at the address that is none', { 'example.net': { a: ['0.0.0.0'] } }, everywhere('127.0.0.1')],
  ['at IPv4 in IPv6', { 'example.net': { aaaa: ['::ffff:7f00:1'] } }, everywhere('127.0.0.1')],
  ['at an address of this machine', { 'example.net': { a: [outwards] } }, everywhere('::')],
  ['at a longer form of its address', { 'example.net': { aaaa: ['0:0:0:0:0:0:0:1'] } }, everywhere('::1')],
])('mail loops back when this relay is %s', async (_, names, own) => {
  expect(await hostsOf('example.net', zone(names), { own })).toEqual({
    kind: 'failed',
    status: '5.4.6',
    reason: 'mail for example.net loops back to myself',
  })
})

test('mail for an address of ours loops back', async () => {
  expect(await hostsOf('[127.0.0.1]', zone({}), { own: everywhere('0.0.0.0') })).toMatchObject({
    kind: 'failed',
    status: '5.4.6',
  })
})
