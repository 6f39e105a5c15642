/** Questions to a real server of the DNS, over UDP and TCP. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { decode, encode, type Answer } from 'dns-packet'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock, type Clock } from '../../../src/base/clock.js'
import { DnsClient, type DnsServer } from '../../../src/relay/dns/dns-client.js'
import { dnsServer, type Entries } from '../dns-server.js'

const a = (name: string, data = '192.0.2.1'): Answer => ({ type: 'A', name, data, ttl: 60 })
const cname = (name: string, data: string): Answer => ({ type: 'CNAME', name, data, ttl: 60 })

/** Tries do not take seconds. */
const hasty: Clock = { ...systemClock, after: (ms, callback) => systemClock.after(ms / 30, callback) }

function clientOf(servers: readonly DnsServer[], clock: Clock = systemClock): DnsClient {
  const client = new DnsClient(servers, clock)
  onTestFinished(() => client.close())
  return client
}

async function clientFor(entries: Entries): Promise<DnsClient> {
  return clientOf([(await dnsServer(entries)).server])
}

/** A server that hears nothing, where nobody else is either. */
async function nobody(): Promise<DnsServer> {
  const socket = createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  const { port } = socket.address()
  socket.close()
  await once(socket, 'close')
  return { address: '127.0.0.1', port, isTrusted: true }
}

test.each([true, false])(
  'whether an answer is proven is what a trusted server says: %s',
  async (isProven) => {
    const client = await clientFor({ 'A x.example': { answers: [a('x.example')], isProven } })
    expect(await client.ask('A', 'x.example')).toEqual({
      kind: 'records',
      records: ['192.0.2.1'],
      owner: 'x.example',
      isProven,
    })
  },
)

test('what a server says to be proven is not when it is not trusted', async () => {
  const { server } = await dnsServer({ 'A x.example': { answers: [a('x.example')], isProven: true } })
  const client = clientOf([{ ...server, isTrusted: false }])
  expect(await client.ask('A', 'x.example')).toMatchObject({ kind: 'records', isProven: false })
})

test('a server is asked to resolve, and what is proven, by a question that it can answer over 512 bytes', async () => {
  const { server, queries } = await dnsServer({ 'SOA .': { isProven: true } })
  await clientOf([server]).ask('SOA', '.')
  expect(decode(queries[0]!)).toMatchObject({ flag_rd: true, flag_ad: true, flag_cd: false })
  expect(decode(queries[0]!).additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 1232 }])
})

test('every question has its own number and port', async () => {
  const socket = createSocket('udp4')
  const seen: [number, number][] = []
  socket.on('message', (query, { port }) => {
    seen.push([query.readUInt16BE(0), port])
    socket.send(encode({ ...decode(query), type: 'response', flags: 0, additionals: [] }), port)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void socket.close())
  const client = clientOf([{ address: '127.0.0.1', port: socket.address().port, isTrusted: true }])
  await Promise.all(Array.from({ length: 20 }, () => client.ask('A', 'x.example')))
  expect(new Set(seen.map(([id]) => id)).size).toBeGreaterThan(15)
  expect(new Set(seen.map(([, port]) => port)).size).toBeGreaterThan(15)
})

test.each<[string, Entries, object]>([
  ['no record', { 'A x.example': { isProven: true } }, { kind: 'no records', isProven: true }],
  ['no name', { 'A x.example': { rcode: 3, isProven: true } }, { kind: 'no name', isProven: true }],
  [
    'aliases',
    {
      'A x.example': {
        answers: [cname('x.example', 'Y.example'), cname('y.example', 'z.example'), a('z.example')],
      },
    },
    { kind: 'records', owner: 'z.example', records: ['192.0.2.1'] },
  ],
  [
    'an alias that leads nowhere',
    { 'A x.example': { answers: [cname('x.example', 'y.example')], rcode: 3 } },
    { kind: 'no name', owner: 'y.example' },
  ],
  ['a record of another name', { 'A x.example': { answers: [a('y.example')] } }, { kind: 'no records' }],
])('%s is an answer', async (_, entries, answer) => {
  expect(await (await clientFor(entries)).ask('A', 'x.example')).toMatchObject(answer)
})

test.each<[string, Entries, string]>([
  ['SERVFAIL', { 'A x.example': { rcode: 2, answers: [a('x.example')] } }, 'ESERVFAIL'],
  ['REFUSED', { 'A x.example': { rcode: 5 } }, 'EREFUSED'],
  [
    'aliases in a circle',
    { 'A x.example': { answers: [cname('x.example', 'y.example'), cname('y.example', 'x.example')] } },
    'EBADRESP',
  ],
  [
    'aliases without an end',
    {
      'A x.example': {
        answers: Array.from({ length: 20 }, (__, i) =>
          cname(i === 0 ? 'x.example' : `y${i}.example`, `y${i + 1}.example`),
        ),
      },
    },
    'EBADRESP',
  ],
  [
    'a record that is cut off',
    { 'A x.example': { answers: [a('x.example')], instead: (usual) => [usual.subarray(0, -2)] } },
    'EBADRESP',
  ],
  [
    'half an address',
    {
      'A x.example': {
        answers: [a('x.example')],
        instead: (usual) => {
          const half = Buffer.from(usual.subarray(0, -2))
          half.writeUInt16BE(2, half.length - 4)
          return [half]
        },
      },
    },
    'EBADRESP',
  ],
  [
    'a name that is cut off',
    { 'A x.example': { answers: [a('x.example')], instead: (usual) => [usual.subarray(0, -20)] } },
    'EBADRESP',
  ],
  [
    'an error that does not fit the header',
    {
      'A x.example': {
        instead: (usual) => {
          const additionals = [{ type: 'OPT', name: '.', extendedRcode: 1 } as Answer]
          return [encode({ ...decode(usual), additionals })]
        },
      },
    },
    'EBADRESP',
  ],
])('%s is none', async (_, entries, code) => {
  await expect((await clientFor(entries)).ask('A', 'x.example')).rejects.toMatchObject({ code })
})

test('a TLSA record of which some is missing is none, and no shorter one', async () => {
  const data = { usage: 3, selector: 1, matchingType: 1, certificate: Buffer.alloc(32, 1) }
  const answers: Answer[] = [{ type: 'TLSA', name: 'x.example', ttl: 60, data }]
  const client = await clientFor({
    'TLSA x.example': { answers },
    'TLSA y.example': {
      instead: (usual) => [usual.subarray(0, -1)],
      answers: [{ ...answers[0]!, name: 'y.example' } as Answer],
    },
  })
  expect(await client.ask('TLSA', 'x.example')).toMatchObject({ records: [data] })
  await expect(client.ask('TLSA', 'y.example')).rejects.toMatchObject({ code: 'EBADRESP' })
})

test('a name that no message can carry is no name', async () => {
  const client = await clientFor({})
  for (const name of ['', 'a..example', `${'a'.repeat(64)}.example`, 'a b.example'])
    await expect(client.ask('A', name)).rejects.toMatchObject({ code: 'EBADNAME' })
})

const changed = (usual: Buffer, at: number, by: number): Buffer => {
  const bytes = Buffer.from(usual)
  bytes[at]! ^= by
  return bytes
}

test.each<[string, (usual: Buffer) => Buffer]>([
  ['another number', (usual) => changed(usual, 1, 1)],
  ['the question again', (usual) => changed(usual, 2, 0x80)],
  ['another kind of query', (usual) => changed(usual, 2, 0x08)],
  ['another name', (usual) => changed(usual, 13, 1)],
  ['another type', (usual) => changed(usual, 12 + 11 + 2 + 1, 1)],
  ['nothing', () => Buffer.alloc(0)],
  ['no question', (usual) => encode({ ...decode(usual), questions: [] })],
])('a message with %s is passed over for the answer', async (_, forge) => {
  const forged = a('x.example', '198.51.100.6')
  const client = await clientFor({
    'A x.example': {
      answers: [a('x.example')],
      instead: (usual) => [forge(encode({ ...decode(usual), answers: [forged] })), usual],
    },
  })
  expect(await client.ask('A', 'x.example')).toMatchObject({ records: ['192.0.2.1'] })
})

test('an answer in other letters is one', async () => {
  const client = await clientFor({
    'A x.example': { answers: [a('X.eXample')], instead: (usual) => [changed(usual, 13, 0x20)] },
  })
  expect(await client.ask('A', 'x.example')).toMatchObject({ records: ['192.0.2.1'] })
})

test('a server that was not asked is not heard, though it knows number and port', async () => {
  const stranger = createSocket('udp4')
  await new Promise<void>((resolve) => stranger.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void stranger.close())
  const server = createSocket('udp4')
  server.on('message', (query, { port }) => {
    const reply = (data: string): Buffer =>
      encode({ ...decode(query), type: 'response', flags: 0, answers: [a('x.example', data)] })
    stranger.send(reply('198.51.100.6'), port, '127.0.0.1', () => server.send(reply('192.0.2.1'), port))
  })
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const client = clientOf([{ address: '127.0.0.1', port: server.address().port, isTrusted: true }])
  expect(await client.ask('A', 'x.example')).toMatchObject({ records: ['192.0.2.1'] })
})

test('what has no room in a datagram comes over TCP, thousands of records too', async () => {
  const answers = Array.from({ length: 2000 }, (_, i) => a('x.example', `10.0.${i >> 8}.${i & 255}`))
  const { server, asked } = await dnsServer({ 'A x.example': { answers, isProven: true, isTruncated: true } })
  const reply = await clientOf([server]).ask('A', 'x.example')
  expect([reply.records.length, reply.isProven]).toEqual([2000, true])
  expect(asked).toEqual(['A x.example', 'tcp A x.example'])
})

test.each([
  ['is silent', 'ETIMEOUT'],
  ['hangs up', 'ECONNRESET'],
] as const)('a server that %s over TCP has no answer', async (overTcp, code) => {
  const { server } = await dnsServer({ 'A x.example': { isTruncated: true, overTcp } })
  await expect(clientOf([server], hasty).ask('A', 'x.example')).rejects.toMatchObject({ code })
})

test('of many questions a few are asked at once, and the others in their turn', async () => {
  const names = Array.from({ length: 30 }, (_, i) => `x${i}.example`)
  const { server, asked } = await dnsServer(
    Object.fromEntries(names.map((name) => [`A ${name}`, { isSilent: true }])),
  )
  const client = clientOf([server])
  const answers = names.map((name) => client.ask('A', name).catch((error: unknown) => error))
  await expect.poll(() => asked.length).toBe(8)
  client.close()
  for (const error of await Promise.all(answers)) expect(error).toMatchObject({ code: 'ECANCELLED' })
  expect(asked).toHaveLength(8)
  const other = await dnsServer(
    Object.fromEntries(names.map((name) => [`A ${name}`, { answers: [a(name)] }])),
  )
  const another = clientOf([other.server])
  const replies = await Promise.all(names.map((name) => another.ask('A', name)))
  expect(replies.map(({ kind }) => kind)).toEqual(names.map(() => 'records'))
})

test('a server that is not there, or silent, is followed by the next, one that fails is not', async () => {
  const silent = await dnsServer({ 'A x.example': { isSilent: true }, 'A y.example': { rcode: 2 } })
  const records = { answers: [a('x.example')] }
  const other = await dnsServer({ 'A x.example': records, 'A y.example': { answers: [a('y.example')] } })
  const client = clientOf([await nobody(), silent.server, other.server], hasty)
  expect(await client.ask('A', 'x.example')).toMatchObject({ kind: 'records' })
  await expect(client.ask('A', 'y.example')).rejects.toMatchObject({ code: 'ESERVFAIL' })
  expect(other.asked).toEqual(['A x.example'])
})

test('a server is tried a second time, and no third', async () => {
  const { server, asked } = await dnsServer({ 'A x.example': { isSilent: true } })
  await expect(clientOf([server], hasty).ask('A', 'x.example')).rejects.toMatchObject({ code: 'ETIMEOUT' })
  expect(asked).toHaveLength(2)
  await expect(clientOf([await nobody()]).ask('A', 'x.example')).rejects.toMatchObject({
    code: 'ECONNREFUSED',
  })
})

test('a caller that stops asking waits for nothing, and leaves no timer', async () => {
  let timerCount = 0
  const clock: Clock = {
    ...systemClock,
    after: (delayMs, callback) => {
      timerCount++
      const timer = systemClock.after(delayMs, callback)
      return {
        cancel: () => {
          timerCount--
          timer.cancel()
        },
      }
    },
  }
  const { server, asked } = await dnsServer({ 'A x.example': { isSilent: true } })
  const client = clientOf([server], clock)
  const answer = client.ask('A', 'x.example')
  const refused = answer.catch((error: unknown) => error)
  await expect.poll(() => asked.length).toBe(1)
  expect(timerCount).toBe(1)
  client.close()
  expect(await refused).toMatchObject({ code: 'ECANCELLED' })
  expect(timerCount).toBe(0)
  await expect(client.ask('A', 'x.example')).rejects.toMatchObject({ code: 'ECANCELLED' })
})

test('a server may be at an address of IPv6', async () => {
  const { server } = await dnsServer({ 'A x.example': { answers: [a('x.example')] } }, '::1')
  expect(await clientOf([server]).ask('A', 'x.example')).toMatchObject({ kind: 'records' })
})
