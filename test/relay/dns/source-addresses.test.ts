/** From where servers are reached. Every address that begins with 127 is this machine's. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { mxTransport } from '../../../src/relay/smtp-out/mx-out.js'
import { localTransport, smtpTransport } from '../../../src/relay/smtp-out/smtp-out.js'
import type { ForeignSession } from '../foreign-server.js'
import { domainAt } from '../smtp-out/mx-out-fixture.js'
import { deliver } from '../request.js'
import { between, scripted, transportOf } from '../smtp-out/smtp-out-fixture.js'

/** A script that answers as usual, and the questions it got. */
function witness(): {
  seen: Set<string | undefined>
  script: (_: string, session: ForeignSession) => undefined
} {
  const seen = new Set<string | undefined>()
  return { seen, script: (_, { address }) => void seen.add(address) }
}

test.each([['127.0.0.1'], ['localhost']])(
  'a server at %s hears from the address that is named',
  async (host) => {
    const { seen, script } = witness()
    const { transport } = await between(script, { host, sourceAddresses: ['127.0.0.3'] })
    expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
    expect([...seen]).toEqual(['127.0.0.3'])
  },
)

test('a server that is named is tried from the other family where nobody answers', async () => {
  const { seen, script } = witness()
  const sourceAddresses = ['127.0.0.3', '::1']
  const { transport } = await between(script, { host: 'localhost', sourceAddresses })
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
  expect([...seen]).toEqual(['127.0.0.3'])
})

test('a server at an address of the family that is not used is not tried', async () => {
  const { server } = await between()
  const transport = transportOf({ host: server.host, port: server.port, sourceAddresses: ['::'] })
  expect(await deliver(transport)).toEqual({
    kind: 'site',
    status: '4.4.1',
    reason: `${server.host}:${server.port}: servers are reached over IPv6 alone`,
  })
  expect(server.sessionCount()).toBe(0)
})

test('a server that is not reached by an address is tried once, however many there are to reach others from', async () => {
  const server = await scripted((line) => (line === 'GREETING' ? { does: 'hang' } : undefined))
  const connecting = async (): Promise<Socket> => {
    const socket = connect(server.port, server.host)
    await once(socket, 'connect')
    return socket
  }
  const sourceAddresses = ['127.0.0.3', '::1']
  const transport = localTransport(connecting, { sourceAddresses, greetingTimeoutMs: 100 })
  onTestFinished(() => transport.close?.())
  expect(await deliver(transport)).toMatchObject({ kind: 'site', status: '4.4.1' })
  expect(server.sessionCount()).toBe(1)
})

test('an address that this machine does not have puts mail off, and says nothing about the site', async () => {
  const { transport } = await between(undefined, { sourceAddresses: ['192.0.2.1'] })
  const result = await deliver(transport)
  expect(result).toMatchObject({
    kind: 'deferred',
    status: '4.3.0',
    reason: expect.stringMatching(/: this machine does not have the address.*: .*EADDRNOTAVAIL/) as string,
  })
})

test('of the mail hosts of a domain, each hears from the address of its family, and those of no family that is used nothing', async () => {
  const { seen, script } = witness()
  const hosts = { '::1': script, '127.0.0.2': script }
  const first = await domainAt(hosts, { sourceAddresses: ['127.0.0.3'] })
  expect(await first.send()).toMatchObject({ kind: 'delivered' })
  expect([...seen]).toEqual(['127.0.0.3'])
  expect(first.servers[0]!.sessionCount()).toBe(0)
  const both = await domainAt(hosts, { sourceAddresses: ['127.0.0.3', '::1'] })
  expect(await both.send()).toMatchObject({ kind: 'delivered' })
  expect([...seen]).toEqual(['127.0.0.3', '::1'])
})

test.each([
  [[], 'expected an address of IPv4, of IPv6, or both'],
  [['localhost'], '"localhost" is no address'],
  [['127.0.0.1', '::1', '127.0.0.2'], 'two addresses of IPv4'],
])('%j are no addresses to reach servers from', (sourceAddresses, reason) => {
  for (const make of [smtpTransport, mxTransport])
    expect(() => make({ sourceAddresses })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(reason) as string }),
    )
})
