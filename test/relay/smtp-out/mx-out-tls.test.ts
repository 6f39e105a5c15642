import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import type { MxTransportOptions } from '../../../src/relay/smtp-out/mx-out-options.js'
import { certificate } from '../certificate.js'
import { domainAt, mxTransportOf, type Domain, type Script } from './mx-out-fixture.js'
import { deliver } from '../request.js'
import { zone } from '../zone.js'

const offering = ['PIPELINING', 'STARTTLS']

const breaksTls: Script = (line) => (line === 'STARTTLS' ? { reply: '220 go', does: 'babble' } : undefined)
/** It does without. */
const refusesTls: Script = (line) => (line === 'STARTTLS' ? '502 5.5.1 no' : undefined)

const opportunistic = (hosts: Record<string, Script>): Promise<Domain> =>
  domainAt(hosts, { tls: 'opportunistic' }, offering)

const wordsTo = ({ servers }: Domain, i: number): string[] =>
  servers[i]!.commands.filter((line) => /STARTTLS|MAIL/.test(line)).map((line) => line.slice(0, 10))

test('at the first attempt a handshake that fails leads to the next mail host, not to plaintext', async () => {
  const domain = await opportunistic({ '127.0.0.2': breaksTls, '127.0.0.3': breaksTls })
  expect(await domain.send()).toMatchObject({ kind: 'site', status: '4.7.5' })
  for (const i of [0, 1]) expect(wordsTo(domain, i)).toEqual(['1 STARTTLS'])
})

test('from the second attempt on the mail host whose handshake fails gets the mail in plaintext', async () => {
  const domain = await opportunistic({ '127.0.0.2': breaksTls, '127.0.0.3': breaksTls })
  expect(await domain.send({ attempts: 1 })).toMatchObject({ kind: 'delivered' })
  expect(wordsTo(domain, 0)).toEqual(['1 STARTTLS', '2 MAIL FRO'])
  expect(domain.servers[1]!.sessionCount()).toBe(0)
})

test('plaintext to one mail host says nothing of another, nor does its session serve a first attempt', async () => {
  let isGone = false
  const domain = await opportunistic({
    '127.0.0.2': (line, session) =>
      line === 'GREETING' && isGone ? { does: 'close' } : breaksTls(line, session),
    '127.0.0.3': breaksTls,
  })
  await domain.send({ attempts: 1 })
  isGone = true
  expect(await domain.send({ attempts: 0 })).toMatchObject({ kind: 'site', status: '4.7.5' })
  expect(wordsTo(domain, 1)).toEqual(['1 STARTTLS'])
})

test('plaintext that a mail host does not want is a reason for the next one', async () => {
  const domain = await opportunistic({
    '127.0.0.2': (line, session) =>
      line.startsWith('MAIL') ? '530 5.7.0 Must issue a STARTTLS command first' : breaksTls(line, session),
    '127.0.0.3': breaksTls,
  })
  expect(await domain.send({ attempts: 1 })).toMatchObject({ kind: 'delivered' })
  expect(domain.servers.map(({ taken }) => taken.length)).toEqual([0, 1])
})

test('a mail host that offers TLS and then refuses it gets the mail without', async () => {
  const domain = await opportunistic({ '127.0.0.2': refusesTls })
  expect(await domain.send()).toMatchObject({ kind: 'delivered' })
})

/** A server with a self-signed certificate: the name that TLS asks for, and whether the
 * mail is encrypted. */
async function heardOf(
  options: MxTransportOptions,
): Promise<{ names: string[]; secure: boolean[]; kind: unknown }> {
  const names: string[] = []
  const secure: boolean[] = []
  const server = new SMTPServer({
    ...certificate,
    authOptional: true,
    disabledCommands: ['AUTH'],
    logger: false,
    SNICallback: (name: string, done: (error: Error | null) => void) => {
      names.push(name)
      done(null)
    },
    onData: (stream, session, done) => {
      secure.push(session.secure)
      stream.resume()
      stream.on('end', () => done())
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close(() => {}))
  const { port } = server.server.address() as AddressInfo
  const resolver = zone({
    'example.net': { mx: [[1, 'mx.example.net']] },
    'mx.example.net': { a: ['127.0.0.1'] },
  })
  const result = await deliver(mxTransportOf({ port, resolver, ...options }))
  return { names, secure, kind: 'kind' in result && result.kind }
}

test('TLS asks for the name of the mail host, and takes whatever certificate it has', async () => {
  expect(await heardOf({ tls: 'opportunistic' })).toEqual({
    names: ['mx.example.net'],
    secure: [true],
    kind: 'delivered',
  })
})

test('a certificate that has to verify is verified for the name of the mail host', async () => {
  const tlsOptions = { rejectUnauthorized: true, ca: certificate.cert }
  // The certificate is for `localhost` and 127.0.0.1.
  expect(await heardOf({ tls: 'opportunistic', tlsOptions })).toMatchObject({ secure: [], kind: 'site' })
})
