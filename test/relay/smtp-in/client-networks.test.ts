/** Networks of clients: which may relay, and whose sessions are counted together. */
import { expect, test } from 'vitest'
import { clientNetwork, loopbackNetworks, networkList } from '../../../src/relay/smtp-in/client-networks.js'

const isTrusted = networkList([
  '192.0.2.0/25',
  '198.51.100.7',
  '2001:db8:0:1::/64',
  '2001:DB8::7',
  '10.0.0.0/8',
])

test.each([
  '10.0.0.1/8',
  '192.168.1.0/16',
  '2001:db8::1/64',
  '10.0.0.0/',
  '/8',
  '1/8',
  '',
  'localhost',
  '10.0.0.0/8 ',
])('%j is no network that can be trusted', (network) => {
  expect(() => networkList([network])).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }) as Error)
})

test.each<[string, boolean]>([
  ['192.0.2.127', true],
  ['192.0.2.128', false],
  ['::ffff:192.0.2.1', true],
  ['::FFFF:192.0.2.128', false],
  ['198.51.100.7', true],
  ['198.51.100.6', false],
  ['10.255.0.1', true],
  ['11.0.0.1', false],
  ['2001:db8:0:1:ffff::9', true],
  ['2001:db8:0:2::1', false],
  ['2001:db8::7', true],
  ['2001:db8::8', false],
  ['::1', false],
  ['127.0.0.1', false],
  ['', false],
  ['example.net', false],
])('%s may relay: %s', (address, is) => {
  expect(isTrusted(address)).toBe(is)
  // Asked again, with another between.
  isTrusted('192.0.2.1')
  expect(isTrusted(address)).toBe(is)
})

test('a network of all addresses is one, and one of all of IPv4 has none of IPv6', () => {
  expect(networkList(['::/0'])('2001:db8::1')).toBe(true)
  expect(networkList(['0.0.0.0/0'])('2001:db8::1')).toBe(false)
})

test('this machine is what loops back', () => {
  const isHere = networkList(loopbackNetworks)
  expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].map(isHere)).toEqual([true, true, true, true])
  expect(['128.0.0.1', '::2', '192.0.2.1'].map(isHere)).toEqual([false, false, false])
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['', ''],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::ffff:2:3:4', '2001:db8:0:0::/64'],
  ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%j counts as %j', (address, network) => {
  expect(clientNetwork(address)).toBe(network)
})
