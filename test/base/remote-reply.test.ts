/** The reply of a server in the reason of an outcome, and the server's name in reports
 * and for people. */
import { expect, test } from 'vitest'
import { andLastly, reasonText, remoteMta, reasonParts } from '../../src/base/remote-reply.js'

test.each([
  ['550 5.1.1 no such user', '', '550 5.1.1 no such user'],
  ['451', '', '451'],
  ['the login was refused: 535 5.7.8 no', 'the login was refused: ', '535 5.7.8 no'],
  [
    'delivery time expired; the last attempt: 451 later',
    'delivery time expired; the last attempt: ',
    '451 later',
  ],
  ['451 4.3.0 behind us: 550 no', '', '451 4.3.0 behind us: 550 no'],
  [`h1:25: 421 busy${andLastly}450 4.7.1 not you`, `h1:25: 421 busy${andLastly}`, '450 4.7.1 not you'],
  [
    `h1:25: 421 busy${andLastly}TLS is required: 454 no`,
    `h1:25: 421 busy${andLastly}TLS is required: `,
    '454 no',
  ],
])('in %j the reply stands behind our own words', (text, before, reply) => {
  expect(reasonParts(text)).toEqual({ before, reply })
})

test.each([
  '',
  'connect ECONNREFUSED 192.0.2.1:25',
  'not an SMTP reply: hello',
  '4510 is no code',
  'took 250 ms',
])('there is no reply in %j', (text) => expect(reasonParts(text)).toBeUndefined())

test.each([
  ['4.2.1', '451 4.2.1 try later', 'mx:25', 'mx:25: 451 4.2.1 try later'],
  ['4.0.0', '451 try later', 'mx:25', 'mx:25: 451 try later'],
  ['4.2.1', '451 4.2.1 try later', undefined, '451 4.2.1 try later'],
  ['5.4.7', 'expired: 451 4.2.1 try later', 'mx:25', '5.4.7 expired: mx:25: 451 4.2.1 try later'],
  ['4.4.1', 'no route to host', undefined, '4.4.1 no route to host'],
  ['', '250 2.0.0 taken', 'mx:25', 'mx:25: 250 2.0.0 taken'],
])('people read the status %j, the words %j and the server %j once', (status, text, remote, shown) => {
  expect(reasonText(status, text, remote)).toBe(shown)
})

test.each([
  ['mx.example.net[192.0.2.1]:25', 'mx.example.net'],
  ['mx.example.net.', 'mx.example.net'],
  ['localhost:2525', 'localhost'],
  ['192.0.2.1:25', '[192.0.2.1]'],
  ['[192.0.2.1]:25', '[192.0.2.1]'],
  ['[2001:db8::1]:25', '[IPv6:2001:db8::1]'],
  ['2001:db8::1', '[IPv6:2001:db8::1]'],
  ['unix:/run/lmtp', undefined],
  ['a b', undefined],
])('a report names the server %j as %j', (remote, name) => {
  expect(remoteMta(remote)).toBe(name)
})
