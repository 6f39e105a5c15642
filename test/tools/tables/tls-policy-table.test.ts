import { expect, test } from 'vitest'
import { readNexthop } from '../../../src/relay/tables/nexthop.js'
import { tlsPolicyIn } from '../../../tools/commands/tables/tls-policy-table.js'

const table = tlsPolicyIn(
  [
    '# where                what',
    'Example.NET            secure',
    '  .example.net\tverify   match=nexthop:.example.com   match=mx.example.org ',
    '',
    '[mail.example.net]:587 encrypt',
    '[2001:db8::1]          none',
  ].join('\r\n'),
  'tls-policy',
  true,
)

test.each([
  ['example.net', 'secure', ['nexthop', 'dot-nexthop'], 2],
  ['a.example.net', 'verify', ['nexthop', '.example.com', 'mx.example.org'], 3],
  ['[mail.example.net]:587', 'encrypt', [], 5],
  ['[2001:db8::1]:25', 'none', [], 6],
])('the line for %s says its level and names', (nexthop, level, match, line) => {
  const place = { option: 'tls-policy', path: 'tls-policy', line }
  expect(table.find(readNexthop(nexthop, 25)!)).toEqual({ level, match, place })
})

test('an empty table says nothing', () => {
  const empty = tlsPolicyIn('# none\n', 'tls-policy', true)
  expect(empty.lines).toEqual([])
  expect(empty.find(readNexthop('example.net', 25)!)).toBeUndefined()
})

test.each([
  ['example.net', /DESTINATION LEVEL.*line 1\)/],
  ['\n# x\nexample.net may\nEXAMPLE.net none', /has a line above.*line 4\)/],
  ['example.net half-dane', /the level half-dane is not here: TLSA.*path \/etc\/tls, line 1\)/],
  ['example.net fingerprint match=AA:BB', /fingerprint is not here.*line 1/],
  ['example.net Secure', /Secure is none of none, may, encrypt, dane, dane-only, verify, secure/],
  ['example.net secure nexthop', /nexthop: behind the level stands match=/],
  ['example.net secure match=a.example ciphers=high', /ciphers=high: behind the level/],
  ['example.net secure match=', / is no name of a certificate/],
  ['example.net secure match=a.example::b.example', / is no name of a certificate/],
  ['example.net encrypt match=a.example', /no name is looked at with encrypt/],
  ['*.example.net may', /\*\.example\.net is no domain/],
  ['example.net:25 may', /example\.net:25 is no domain/],
  ['[example.net may', /\[example\.net is no domain/],
  ['[a]:0 may', /\[a\]:0 is no domain/],
])('%j is refused with its line', (text, says) => {
  expect(() => tlsPolicyIn(text, '/etc/tls', true)).toThrow(says)
})

test('where mail goes to a relay, nobody looks for TLSA records', () => {
  expect(tlsPolicyIn('example.net dane-only', 'tls', true).lines).toHaveLength(1)
  expect(() => tlsPolicyIn('[mail.example.net] dane', 'tls', false)).toThrow(
    /level dane is for.*--direct.*line 1/,
  )
})

test('where mail goes to a relay, a domain is no destination', () => {
  expect(() => tlsPolicyIn('mail.example.net secure', 'tls', false)).toThrow(
    /mail\.example\.net is no server.*brackets.*--direct.*line 1/,
  )
})
