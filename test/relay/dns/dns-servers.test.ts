import { expect, test } from 'vitest'
import { readDnsServer, systemDnsServers, trustedOf } from '../../../src/relay/dns/dns-client.js'

test.each([
  ['127.0.0.1', '127.0.0.1', 53],
  ['192.0.2.1:5353', '192.0.2.1', 5353],
  ['::1', '::1', 53],
  ['[2001:db8::1]:5353', '2001:db8::1', 5353],
])('%s is a server', (text, address, port) => {
  expect(readDnsServer(text)).toEqual({ address, port, isTrusted: true })
})

test.each(['', 'localhost', '127.0.0.1:', '127.0.0.1:0', '127.0.0.1:65536', '[::1', '1.2.3'])(
  '%j is none',
  (text) => {
    expect(readDnsServer(text)).toBeUndefined()
  },
)

test('of the servers of the system those on this machine are believed, and asked alone', () => {
  const told = trustedOf(['192.0.2.1', '127.0.0.53', '[::1]:5353', '::ffff:127.0.0.1'])
  expect(told.map(({ address, isTrusted }) => [address, isTrusted])).toEqual([
    ['127.0.0.53', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
  ])
})

test('where there is none, the others are asked, and believed nothing', () => {
  expect(trustedOf(['192.0.2.1', '2001:db8::1']).map(({ isTrusted }) => isTrusted)).toEqual([false, false])
})

test('the system has servers, or is its own', () => {
  expect(systemDnsServers().length).toBeGreaterThan(0)
})
