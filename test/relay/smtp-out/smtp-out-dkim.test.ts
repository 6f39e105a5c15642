/** Mail that is signed as it leaves, as the other server has it. */
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import type { Taken } from '../foreign-server.js'
import { ed25519, onTheWire, publicKeys, rsa } from '../dkim/dkim-fixture.js'
import { verdictsOf } from '../dkim/dkim-verifier.js'
import { domainAt } from './mx-out-fixture.js'
import { deliver, requestOf, someData } from '../request.js'
import { between } from './smtp-out-fixture.js'

const header = 'From: Ada <ada@example.org>\r\nSubject: a test\r\n'
const mail = Buffer.from(`${header}\r\nHello.\r\n`)
const signal = new AbortController().signal

const rightOnes = ({ data }: Taken): string[] =>
  verdictsOf(data, publicKeys).map(({ selector, isRight }) => (isRight ? selector : `${selector} is wrong`))

/** What stands below the signatures. */
const below = ({ data }: Taken): string =>
  data.toString('latin1').replace(/^(?:DKIM-Signature: [^]*?\r\n(?! ))+/, '')

test.each<[string, Buffer]>([
  ['that leaves as it stands', mail],
  ['without a body', Buffer.from('From: ada@example.org')],
  ['with dots at line starts', Buffer.from(`${header}\r\n.\r\n..\r\n.a \r\n`)],
  ['that begins with a dot', Buffer.from(`.x: y\r\n${header}\r\nx\r\n`)],
  ['with CRs and LFs that stand alone', Buffer.from('From: ada@example.org\rTo: b\n\nx \r.\ny\r\r')],
  ['with eight bits', Buffer.from(`${header}To: J\xf6rg\r\n\r\n\xff\xfe\r\n`, 'latin1')],
  ['with a last line without an end', Buffer.from(`${header}\r\nx `)],
])('data %s arrives as it was, below signatures that are right', async (_, data) => {
  const { server, transport } = await between(undefined, { dkim: [rsa, ed25519] })
  expect(await deliver(transport, {}, data)).toMatchObject({ kind: 'delivered' })
  const [taken] = server.taken
  expect(rightOnes(taken!)).toEqual(['mail', 'small'])
  expect(below(taken!)).toBe(onTheWire(data).toString('latin1'))
})

test('data over a mebibyte is read twice as a stream, and never at once', async () => {
  const { server, transport } = await between(undefined, { dkim: [rsa] })
  const data = Buffer.concat([mail, Buffer.from('.line of a  long message \r\n'.repeat(60_000))])
  let streamCount = 0
  const stream = (): Readable => {
    streamCount++
    const pieces = Array.from({ length: Math.ceil(data.length / 1000) }, (_, i) =>
      data.subarray(i * 1000, i * 1000 + 1000),
    )
    return Readable.from(pieces, { objectMode: false })
  }
  const request = requestOf(data, {
    stream,
    data: () => Promise.reject(new Error('must not be read at once')),
  })
  expect(await transport.deliver(request, signal)).toMatchObject({ kind: 'delivered' })
  expect(streamCount).toBe(2)
  expect(rightOnes(server.taken[0]!)).toEqual(['mail'])
  expect(below(server.taken[0]!)).toBe(data.toString())
})

test.each([
  ['whole', mail],
  ['as a stream', Buffer.concat([mail, Buffer.from('line of a long message\r\n'.repeat(60_000))])],
])('the size that is announced is that of what is sent: %s', async (_, data) => {
  const { server, transport } = await between(undefined, { dkim: [rsa] })
  expect(await deliver(transport, {}, data)).toMatchObject({ kind: 'delivered' })
  const [taken] = server.taken
  expect(taken!.commands[0]).toContain(` SIZE=${taken!.data.length}`)
})

test('mail with the signature above it may be too large for a server that would take it without', async () => {
  const { transport } = await between(undefined, { dkim: [rsa] }, [`SIZE ${mail.length}`])
  expect(await deliver(transport, {}, mail)).toMatchObject({ kind: 'failed', status: '5.3.4' })
})

test.each<[string, Buffer]>([
  ['another author', Buffer.from('From: ada@example.net\r\n\r\nHello.\r\n')],
  ['no author', someData],
])('mail of %s leaves octet by octet as it was', async (_, data) => {
  const { server, transport } = await between(undefined, { dkim: [rsa] })
  await deliver(transport, {}, data)
  expect(server.taken[0]?.data.equals(data)).toBe(true)
  expect(server.taken[0]?.commands[0]).toContain(` SIZE=${data.length}`)
})

test('each attempt signs anew, and says when', async () => {
  let now = 1_700_000_000_000
  const clock = { ...systemClock, wallMs: () => now }
  let answer = '451 4.3.0 later'
  const { server, transport } = await between((line) => (line === '.' ? answer : undefined), {
    dkim: [rsa],
    clock,
  })
  expect(await deliver(transport, {}, mail)).toMatchObject({ kind: 'deferred' })
  answer = '250 taken'
  now += 3_600_000
  await deliver(transport, { attempts: 1 }, mail)
  expect(verdictsOf(server.taken[0]!.data, publicKeys)).toMatchObject([
    { signedAt: 1_700_003_600, isRight: true },
  ])
})

test('mail that is sent again within an attempt, over a fresh connection, is signed', async () => {
  const { server, transport } = await between(
    (line, { number, taken }) =>
      number === 1 && taken === 1 && line.startsWith('MAIL') ? { does: 'close' } : undefined,
    { dkim: [rsa] },
  )
  await deliver(transport, {}, mail)
  expect(await deliver(transport, {}, mail)).toMatchObject({ kind: 'delivered' })
  expect(server.taken.map(({ session }) => session)).toEqual([1, 2])
  expect(server.taken.map(rightOnes)).toEqual([['mail'], ['mail']])
})

test('of the servers of a domain each hears the same signature', async () => {
  let now = 1_700_000_000_000
  const { servers, transport } = await domainAt(
    { '127.0.0.1': (line) => (line === '.' ? '451 4.3.0 later' : undefined), '127.0.0.2': undefined },
    { dkim: [rsa], clock: { ...systemClock, wallMs: () => (now += 1000) } },
  )
  expect(await deliver(transport, {}, mail)).toMatchObject({ kind: 'delivered' })
  expect(servers[0]!.commands).toContain('1 DATA')
  expect(rightOnes(servers[1]!.taken[0]!)).toEqual(['mail'])
  expect(now).toBe(1_700_000_001_000)
})

test('no server hears of mail whose data cannot be read, and the next one has its connection', async () => {
  const { server, transport } = await between(undefined, { dkim: [rsa] })
  const rotten = (): Readable =>
    Readable.from(
      (async function* () {
        yield mail
        throw new Error('rotten')
      })(),
    )
  const request = requestOf(mail, { dataBytes: 2 << 20, stream: rotten })
  await expect(transport.deliver(request, signal)).rejects.toThrow('rotten')
  expect(server.commands.filter((line) => line.includes('MAIL'))).toEqual([])
  await deliver(transport, {}, mail)
  expect(server.sessionCount()).toBe(1)
})

test('an attempt that is abandoned while it signs sends nothing', async () => {
  const { server, transport } = await between(undefined, { dkim: [rsa] })
  const controller = new AbortController()
  const stream = (): Readable =>
    Readable.from(
      (async function* () {
        yield mail
        controller.abort()
      })(),
    )
  const request = requestOf(mail, { dataBytes: 2 << 20, stream })
  expect(await transport.deliver(request, controller.signal)).toMatchObject({ kind: 'site' })
  expect(server.commands.filter((line) => line.includes('MAIL'))).toEqual([])
})

test('mail of other letters is signed by the name that the DNS has of its domain', async () => {
  const { server, transport } = await between(undefined, {
    dkim: [{ ...rsa, domain: 'b\u00fccher.example' }],
  })
  const data = Buffer.from('From: J\u00f6rg <j\u00f6rg@b\u00fccher.example>\r\nSubject: \u00e4\r\n\r\nx\r\n')
  expect(await deliver(transport, { smtputf8: true }, data)).toMatchObject({ kind: 'delivered' })
  const key = publicKeys['mail._domainkey.example.org']!
  expect(verdictsOf(server.taken[0]!.data, { 'mail._domainkey.xn--bcher-kva.example': key })).toMatchObject([
    { domain: 'xn--bcher-kva.example', isRight: true },
  ])
})

test.each([
  [['one@example.net'], []],
  [['one@example.net', 'two@example.com'], ['mail']],
])('an attempt for %j is signed, or leaves as it came, as the option says', async (recipients, selectors) => {
  const { server, transport } = await between(undefined, {
    dkim: [rsa],
    dkimSigns: (those) => those.includes('two@example.com'),
  })
  await deliver(transport, { recipients }, mail)
  expect(rightOnes(server.taken[0]!)).toEqual(selectors)
  expect(below(server.taken[0]!)).toBe(mail.toString())
})
