import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { SessionServer } from '../../src/relay/smtp-session.js'
import { rawClient, type RawClient } from './raw-client.js'

/** A server that takes each client for who it is told. */
async function clientsFrom(sessionsMax: number): Promise<(address: string) => Promise<RawClient>> {
  const sessions = new SessionServer(
    { authOptional: true, hideSTARTTLS: true, logger: false, disableReverseLookup: true },
    () => ({
      greetDelayMs: 0,
      sessionsMax,
    }),
  )
  const addresses: string[] = []
  const server = createServer((socket) => sessions.connect(socket, { remoteAddress: addresses.shift()! }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    sessions.abandon()
    server.close()
  })
  return async (address) => {
    addresses.push(address)
    const client = await rawClient((server.address() as AddressInfo).port)
    onTestFinished(() => client.destroy())
    return client
  }
}

test('the addresses of one IPv6 network have their sessions together, those of two do not', async () => {
  const from = await clientsFrom(2)
  for (const address of [
    '2001:db8:0:1::1',
    '2001:db8:0:1:ffff::2',
    '2001:db8:0:2::1',
    '192.0.2.1',
    '192.0.2.2',
  ])
    expect(await (await from(address)).reply()).toMatch(/^220 /)
  expect(await (await from('2001:db8:0:1:2:3:4:5')).reply()).toMatch(
    /^421 4\.7\.0 .* too many sessions from 2001:db8:0:1::\/64,/,
  )
  expect(await (await from('192.0.2.1')).reply()).toMatch(/^220 /)
})
