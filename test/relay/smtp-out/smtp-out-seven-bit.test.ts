/** Eight-bit mail at servers that offer no 8BITMIME. */
import { isAscii } from 'node:buffer'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { publicKeys, rsa } from '../dkim/dkim-fixture.js'
import { verdictsOf } from '../dkim/dkim-verifier.js'
import { deliver, requestOf } from '../request.js'
import { domainAt } from './mx-out-fixture.js'
import { between } from './smtp-out-fixture.js'

const header =
  'From: Ada <ada@example.org>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n'
const eight = Buffer.from(`${header}Content-Transfer-Encoding: 8bit\r\n\r\nGrüße.\r\n`)
const seven = `${header}Content-Transfer-Encoding: quoted-printable\r\n\r\nGr=C3=BC=C3=9Fe.\r\n`
const withoutEightBit = ['PIPELINING', 'SIZE 1000000000']

test('eight-bit mail is converted for a server without 8BITMIME, and its size is that of what leaves', async () => {
  const { server, transport } = await between(undefined, {}, withoutEightBit)
  expect(await deliver(transport, {}, eight)).toMatchObject({ kind: 'delivered' })
  expect(server.taken[0]!.data.toString()).toBe(seven)
  const [mail] = server.commands.filter((line) => line.includes('MAIL FROM'))
  expect(mail).toContain(`SIZE=${seven.length}`)
  expect(mail).not.toContain('BODY=')
})

test('eight-bit mail leaves as it was for a server with 8BITMIME', async () => {
  const { server, transport } = await between(undefined, {}, ['8BITMIME'])
  await deliver(transport, {}, eight)
  expect(server.taken[0]!.data.equals(eight)).toBe(true)
})

test('mail is converted before it is signed, so the signature of what arrives is right', async () => {
  const { server, transport } = await between(undefined, { dkim: [rsa] }, withoutEightBit)
  await deliver(transport, {}, eight)
  const { data } = server.taken[0]!
  expect(isAscii(data)).toBe(true)
  expect(verdictsOf(data, publicKeys)).toMatchObject([{ isRight: true }])
})

test('each server of a domain gets the form that it takes', async () => {
  const later = (line: string): string | undefined => {
    if (line.startsWith('EHLO')) return '250 h1'
    return line === '.' ? '451 4.3.0 later' : undefined
  }
  const { servers, send } = await domainAt({ '127.0.0.2': later, '127.0.0.3': undefined }, { dkim: [rsa] })
  const more = { data: () => Promise.resolve(eight), dataBytes: eight.length }
  expect(await send(more)).toMatchObject({ kind: 'delivered' })
  const { data } = servers[1]!.taken[0]!
  expect(data.includes('Grüße.')).toBe(true)
  expect(verdictsOf(data, publicKeys)).toMatchObject([{ isRight: true }])
})

test('data over a mebibyte is converted as a stream, and never held whole', async () => {
  const large = Buffer.concat([eight, Buffer.from('Mit freundlichen Grüßen\r\n'.repeat(60_000))])
  const { server, transport } = await between(undefined, { dkim: [rsa] }, withoutEightBit)
  const result = await transport.deliver(
    requestOf(large, {
      data: () => Promise.reject(new Error('read whole')),
      stream: () => Readable.from(pieces(large), { objectMode: false }),
    }),
    new AbortController().signal,
  )
  expect(result).toMatchObject({ kind: 'delivered' })
  const { data } = server.taken[0]!
  expect(isAscii(data)).toBe(true)
  expect(verdictsOf(data, publicKeys)).toMatchObject([{ isRight: true }])
  const [mail] = server.commands.filter((line) => line.includes('MAIL FROM'))
  expect(mail).toContain(`SIZE=${data.length}`)
})

function* pieces(data: Buffer): Generator<Buffer> {
  for (let at = 0; at < data.length; at += 65_536) yield data.subarray(at, at + 65_536)
}

test('signed mail that cannot be converted is returned, and the session goes on', async () => {
  const signed = Buffer.from(
    'Content-Type: multipart/signed; boundary=s\r\n\r\n--s\r\nContent-Transfer-Encoding: 8bit\r\n\r\n' +
      'Grüße.\r\n--s\r\n\r\nx\r\n--s--\r\n',
  )
  const { server, transport } = await between(undefined, {}, withoutEightBit)
  const result = await deliver(transport, {}, signed)
  expect(result).toMatchObject({ kind: 'failed', status: '5.6.3' })
  expect((result as { reason: string }).reason).toMatch(/^the server does not offer 8BITMIME, .* signed/)
  await deliver(transport)
  expect(server.sessionCount()).toBe(1)
})
