import { expect, test } from 'vitest'
import { reportDecision } from '../../src/bounce/report-decision.js'
import { isMailAddress } from '../../src/base/mail-address.js'

const reported = { kind: 'report' }
const silent = (why: string): object => ({ kind: 'silent', why })

test.each([
  ['', 1, silent('null sender')],
  ['', 0, silent('null sender')],
  ['root', 1, silent('sender is not an address')],
  ['root', 0, silent('sender is not an address')],
  ['ann@example.org', 0, silent('already reported')],
  ['ann@example.org', 1, reported],
  ['ann@example.org', 1000, reported],
])('sender %j with %d to report: %j', (sender, unreportedCount, expected) => {
  expect(reportDecision(sender, unreportedCount)).toEqual(expected)
})

test.each([
  ['a@b', true],
  ['a.b+c=d@example.org', true],
  ['"a b"@example.org', true],
  ['"a\\"b@c"@example.org', true],
  ['a@[192.0.2.1]', true],
  ['a@[IPv6:2001:db8::1]', true],
  ['jos\u00e9@\u4f8b\u3048.example', true],
  ['a', false],
  ['@b', false],
  ['a@', false],
  ['a@b@c', false],
  ['a@b, c@d', false],
  ['<a@b>', false],
  ['a b@c', false],
  ['a@b\r\nBcc: c@d', false],
  ['"a\nb"@c', false],
  ['"a"b@c', false],
  ['a@\ud800', false],
  [`${'a'.repeat(600)}@b`, false],
])('%j can get a report: %s', (text, expected) => {
  expect(isMailAddress(text)).toBe(expected)
})
