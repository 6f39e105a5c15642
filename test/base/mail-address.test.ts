import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addressBytesMax,
  addressKind,
  comparableDomainOf,
  isInternational,
  isMailAddress,
  withNeededQuotes,
  withoutFinalDot,
  withoutNeedlessQuotes,
} from '../../src/base/mail-address.js'

test.each([
  'ada@example.org',
  'a+b=c/d@example.org',
  "o'hara@example.org",
  '"ada lovelace"@example.org',
  '"a\\"b"@example.org',
  '"a@b"@example.org',
  'ada@[192.0.2.1]',
  'ada@[IPv6:2001:db8::1]',
  'ädä@exämple.org',
  '@x@example.org'.slice(1),
  'ada@localhost',
  'MAILER-DAEMON@host',
])('%s is an address', (text) => {
  expect(isMailAddress(text)).toBe(true)
})

test.each([
  '',
  'ada',
  '@example.org',
  'ada@',
  'ada@@example.org',
  'ada@b@example.org',
  'ada lovelace@example.org',
  'ada@exam ple.org',
  '<ada@example.org>',
  'ada@example.org,grace@example.org',
  'ada@example.org;grace',
  'ada@[192.0.2.1',
  'ada@[]',
  '"ada@example.org',
  '""@example.org',
  '"a"b"@example.org',
  'ada@example.org\r\nRCPT TO:<x@y>',
  '"a\nb"@example.org',
  'a\u0000b@example.org',
  'a\u0085b@example.org',
  'a\u2028b@example.org',
  '\ud800@example.org',
  'ada(comment)@example.org',
  'ada@example.org ',
])('%j is no address', (text) => {
  expect(isMailAddress(text)).toBe(false)
})

test('no address has a line break, an angle bracket outside quotes, or two ways to be read', () => {
  const anyPart = fc.string({ unit: fc.constantFrom(...'aaabbb@"\\<.,[] \r\u0000é'.split('')), maxLength: 6 })
  const anyText = fc.oneof(
    fc.tuple(anyPart, anyPart).map(([local, domain]) => `${local}@${domain}`),
    fc.tuple(anyPart, anyPart).map(([local, domain]) => `"${local}"@${domain}`),
    fc.tuple(anyPart, anyPart).map(([local, domain]) => `${local}@[${domain}]`),
  )
  fc.assert(
    fc.property(anyText, (text) => {
      fc.pre(isMailAddress(text))
      // Without what is quoted and without a literal, one @ is left, and nothing that SMTP reads
      // otherwise.
      const bare = text.replace(/"(?:[^"\\]|\\.)+"/u, 'q').replace(/\[[^[\]]*\]$/, 'd')
      expect(text).not.toMatch(/\p{Cc}/u)
      expect(bare.split('@')).toHaveLength(2)
      expect(bare).not.toMatch(/[\s<>(),;:"]/)
    }),
    { numRuns: 500 },
  )
})

test('the bound counts octets, and the cheap test accepts nothing that the careful one refuses', () => {
  const domain = '@example.org'
  const longest = 'é'.repeat((addressBytesMax - domain.length) / 2) + domain
  expect(isMailAddress(longest)).toBe(true)
  expect(isMailAddress(`é${longest}`)).toBe(false)
  const plain = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.]{1,64}@[A-Za-z0-9.-]{1,255}$/
  fc.assert(
    fc.property(fc.stringMatching(plain), (text) => {
      // A letter outside the cheap test's set, so that the careful one decides.
      expect(isMailAddress(text.replace('@', 'é@'))).toBe(true)
    }),
  )
})

test('an address outside ASCII needs SMTPUTF8, one within does not', () => {
  expect(isInternational('ädä@example.org')).toBe(true)
  expect(isInternational('ada@exämple.org')).toBe(true)
  expect(isInternational('ada@xn--exmple-cua.org')).toBe(false)
})

test('a domain is the same in capitals, and with the dot that ends it', () => {
  for (const address of ['a@example.net', 'b@Example.NET', '"c@d"@example.net.'])
    expect(comparableDomainOf(address)).toBe('example.net')
})

test.each([
  'ada@example.org',
  '"ada lovelace"@example.org',
  'ada@[192.0.2.1]',
  'ädä@example.org',
  'ada@exämple.org',
  'ada',
])('the kind of %s says whether it is an address and needs SMTPUTF8', (text) => {
  const kind = isInternational(text) ? 'international' : 'ascii'
  expect(addressKind(text)).toBe(isMailAddress(text) ? kind : undefined)
})

test.each([
  ['"ada"@x', 'ada@x'],
  ['"a\\da.l"@x', 'ada.l@x'],
  ['"a\\ b\\"c"@x', '"a b\\"c"@x'],
  ['"a b"@x', '"a b"@x'],
  ['"a@b"@x', '"a@b"@x'],
  ['".a"@x', '.a@x'],
  ['"a..b"@x', 'a..b@x'],
  ['"\u00a0"@x', '"\u00a0"@x'],
  ['"\\"ada\\""@x', '"\\"ada\\""@x'],
  ['"a"b"@x', '"a"b"@x'],
  ['"ada"', '"ada"'],
  ['ada@x', 'ada@x'],
])('without needless quotes %s is %s', (address, plain) => {
  expect(withoutNeedlessQuotes(address)).toBe(plain)
})

test.each([
  ['.a@x', '".a"@x'],
  ['a..b@x', '"a..b"@x'],
  ['a.@x', '"a."@x'],
  ['"a."@x', '"a."@x'],
  ['"a b"@x', '"a b"@x'],
  ['a.b@x', 'a.b@x'],
  ['a@x..y', 'a@x..y'],
  ['', ''],
])('with the quotes that a path needs %s is %s', (address, path) => {
  expect(withNeededQuotes(address)).toBe(path)
  expect(withoutNeedlessQuotes(path)).toBe(withoutNeedlessQuotes(address))
})

test.each([
  ['a@x.', 'a@x'],
  ['a@x..', 'a@x..'],
  ['a@.', 'a@.'],
  ['a@x', 'a@x'],
  ['a.', 'a.'],
])('without the dot at its end %s is %s', (address, plain) => {
  expect(withoutFinalDot(address)).toBe(plain)
})
