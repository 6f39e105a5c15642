import { expect, test } from 'vitest'
import { readNexthop } from '../../../src/relay/tables/nexthop.js'

test.each([
  ['example.net', { kind: 'domain', name: 'example.net', port: 25 }],
  ['Example.NET.', { kind: 'domain', name: 'example.net', port: 25 }],
  ['localhost', { kind: 'domain', name: 'localhost', port: 25 }],
  ['example.net:587', { kind: 'domain', name: 'example.net', port: 587 }],
  ['[mx.example.net]', { kind: 'host', name: 'mx.example.net', port: 25 }],
  ['[mx.example.net]:26', { kind: 'host', name: 'mx.example.net', port: 26 }],
  ['münchen.de', { kind: 'domain', name: 'xn--mnchen-3ya.de', port: 25 }],
  ['例え。テスト', { kind: 'domain', name: 'xn--r8jz45g.xn--zckzah', port: 25 }],
  ['0x7f.1', { kind: 'domain', name: '0x7f.1', port: 25 }],
  ['[192.0.2.1]', { kind: 'address', address: '192.0.2.1', port: 25 }],
  ['192.0.2.1:26', { kind: 'address', address: '192.0.2.1', port: 26 }],
  ['[IPv6:2001:db8::1]', { kind: 'address', address: '2001:db8::1', port: 25 }],
  ['[ipv6:2001:db8::1]:26', { kind: 'address', address: '2001:db8::1', port: 26 }],
  ['[2001:db8::1]:26', { kind: 'address', address: '2001:db8::1', port: 26 }],
])('%s is looked for as %j', (nexthop, destination) => {
  expect(readNexthop(nexthop, 25)).toEqual(destination)
})

test.each([
  '',
  'a b',
  'a..b',
  '.example.net',
  'a!b.example.net',
  `${'a'.repeat(64)}.net`,
  `${'a.'.repeat(127)}net`,
  'example.net:0',
  'example.net:65536',
  '2001:db8::1',
  '[]',
  '[192.0.2.1',
  '[a b]',
  // In full width, which is no name but an address when it is ASCII.
  '１２７．０．０．１',
  // To the parser of URLs, which turns names into ASCII, they are `münchen.de` and something behind
  // it.
  'münchen.de/24',
  'münchen.de\\24',
  'münchen.de?24',
  'münchen.de#24',
  'm%41ünchen.de',
])('"%s" is nothing to look for', (nexthop) => {
  expect(readNexthop(nexthop, 25)).toBeUndefined()
})
