import { expect, test } from 'vitest'
import { mailPath } from '../../../src/relay/smtp-in/mail-path.js'

test.each([
  ['<ada@example.org>', 'ada@example.org', ''],
  [' <ada@example.org> SIZE=3', 'ada@example.org', ' SIZE=3'],
  ['<>', '', ''],
  ['<postmaster>', 'postmaster', ''],
  ['<@a.example,@b.example:ada@example.org>', 'ada@example.org', ''],
  ['<"a b"@example.org>', '"a b"@example.org', ''],
  ['<"a>b\\"<c"@example.org> NOTIFY=NEVER', '"a>b\\"<c"@example.org', ' NOTIFY=NEVER'],
  ['<"a@b"@example.org>', '"a@b"@example.org', ''],
  ['<ada@[192.0.2.1]>', 'ada@[192.0.2.1]', ''],
  ['<ada@[IPv6:2001:db8::1]>', 'ada@[IPv6:2001:db8::1]', ''],
  ['<"ada"@example.org>', 'ada@example.org', ''],
  ['<"a\\da.l"@example.org>', 'ada.l@example.org', ''],
  ["<o'hara+x=y@example.org>", "o'hara+x=y@example.org", ''],
  ['<a..b@example.org>', 'a..b@example.org', ''],
  ['<a.@example.org>', 'a.@example.org', ''],
  ['<.a@example.org>', '.a@example.org', ''],
  ['<root@web_01.example.org>', 'root@web_01.example.org', ''],
  ['<user@internal_exchange>', 'user@internal_exchange', ''],
  ['<ada@-x-.example.org>', 'ada@-x-.example.org', ''],
  ['<ada@example.org.>', 'ada@example.org', ''],
])('everyone may write %j', (text, address, rest) => {
  expect(mailPath(text, false)).toEqual({ address, rest })
  expect(mailPath(text, true)).toEqual({ address, rest })
})

test.each([
  ['raid@example.org', 'raid@example.org', ''],
  [' raid@example.org  SIZE=3', 'raid@example.org', '  SIZE=3'],
  ['<root>', 'root', ''],
  ['root', 'root', ''],
  ['< a@example.org > SIZE=3', 'a@example.org', ' SIZE=3'],
  ['<<a@example.org>> SIZE=3', 'a@example.org', ' SIZE=3'],
  ['<Ada L <a@example.org>>', 'a@example.org', ''],
  ['<DOM\\ada@example.org>', 'DOMada@example.org', ''],
])('a client that may relay may write %j, a stranger may not', (text, address, rest) => {
  expect(mailPath(text, true)).toEqual({ address, rest })
  expect(mailPath(text, false)).toBeUndefined()
})

test.each([
  '',
  'a b@example.org',
  '<a b@example.org>',
  '<a@b',
  '<a@b>x',
  'Ada <ada@example.org>',
  '<a@b@c>',
  '<a@b>>',
  '<<a@b>',
  '<<>>',
  '< >',
  '<a@b <c@d>',
  '<"a"b"@c>',
  '<"a"@b,"c"@d>',
])('nobody may write %j', (text) => {
  expect(mailPath(text, true)).toBeUndefined()
  expect(mailPath(text, false)).toBeUndefined()
})

test.each(['<ada@example..org>', '<ada@.example.org>', '<ada@example.org..>', '<ada@[192.0.2.256]>'])(
  'a stranger may not write %j',
  (text) => {
    expect(mailPath(text, false)).toBeUndefined()
  },
)
