import { expect, test } from 'vitest'
import { isMailAddress } from '../../../src/base/mail-address.js'
import { addressesIn, qualifiedField, shownField } from '../../../src/relay/mime/header-addresses.js'

test.each([
  ['From: root (Cron Daemon)\r\n', 'From: root@o.example (Cron Daemon)\r\n'],
  ['To: root\r\n', 'To: root@o.example\r\n'],
  ['To:root,admin ,a@b\r\n', 'To:root@o.example,admin@o.example ,a@b\r\n'],
  ['To: root,\r\n\tadmin\r\n', 'To: root@o.example,\r\n\tadmin@o.example\r\n'],
  ['From: Cron Daemon <root>\r\n', 'From: Cron Daemon <root@o.example>\r\n'],
  ['From: "a, b" <root>, (x, y) c\r\n', 'From: "a, b" <root@o.example>, (x, y) c@o.example\r\n'],
  ['Cc: friends: root, a@b;\r\n', 'Cc: friends: root@o.example, a@b;\r\n'],
  ['From: root (a (nested) comment)\r\n', 'From: root@o.example (a (nested) comment)\r\n'],
  ['From: root (a ((deeply) nested) comment)\r\n', 'From: root@o.example (a ((deeply) nested) comment)\r\n'],
  ['To: root, a@[IPv6:::1]\r\n', 'To: root@o.example, a@[IPv6:::1]\r\n'],
])('%j becomes %j', (text, qualified) => {
  expect(qualifiedField(text, 'o.example')).toBe(qualified)
})

test.each([
  'From: a@b (root)\r\n',
  'From: "root"\r\n',
  'From: "x\\" root" <a@b>\r\n',
  'From: <>\r\n',
  'From:\r\n',
  'To: undisclosed-recipients:;\r\n',
  'To: list not shown\r\n',
  'From: root "open\r\n',
  'From: M\xfcller <a@b>\r\n',
])('%j stays as it is', (text) => {
  expect(qualifiedField(text, 'o.example')).toBe(text)
})

test.each([
  ['a@b c@d', ['a@b', 'c@d']],
  ['a@b\r\n c@d', ['a@b', 'c@d']],
  ['<a@b> <c@d>', ['a@b', 'c@d']],
  ['Bob a@b', ['a@b']],
  ['c@d <a@b>', ['a@b']],
  ['"A, B" <a@b>, (x, c@d) root', ['a@b', 'root']],
  ['friends: a@b, <@r.example,@s.example:c@d>;, e@f', ['a@b', 'c@d', 'e@f']],
  ['"a b"@c.d, "a@b"@c.d', ['"a b"@c.d', '"a@b"@c.d']],
  ['a@[IPv6:::1], u(x)@h', ['a@[IPv6:::1]', 'u@h']],
  ['Ada <ada@e.net> grace@e.net', ['ada@e.net', 'grace@e.net']],
  ['<a@b> c@d <e@f> Eve', ['a@b', 'e@f']],
  ['j . doe@e.net', ['j.doe@e.net']],
  ['ada @ e.net', ['ada@e.net']],
  ['ada @e.net', ['ada@e.net']],
  ['ada@ e.net, u @h', ['ada@e.net', 'u@h']],
  ['Ada < ada @ e.net >', ['ada@e.net']],
  ['ada (a (b) c) @e.net', ['ada@e.net']],
  ['ada@e.net (Ada', ['ada@e.net']],
  ['\\root', ['root']],
  ['undisclosed-recipients:;', []],
  ['list not shown, "root", <>', []],
])('%j names %j', (text, addresses) => {
  expect(addressesIn(text)).toEqual(addresses)
})

test.each(['p."o\'neil"@x.y', 'a@b>', 'a@b, (c@d\r\n', 'Bob "the man <a@b>'])(
  '%j has no address that would be another one, and one that is refused',
  (text) => {
    const addresses = addressesIn(text)
    expect(addresses).toHaveLength(1)
    expect(isMailAddress(addresses[0]!)).toBe(false)
  },
)

test('octets that are no text stay as they are, whatever the address would become', () => {
  const shown = (address: string): string => address.replace('@host.internal', '@example.org')
  expect(shownField('From: <\xe9@host.internal>, <a@host.internal>', shown)).toBe(
    'From: <\xe9@host.internal>, <a@example.org>',
  )
})

test.each([
  ['root@host.internal (Cron Daemon)', 'root@example.org (Cron Daemon)'],
  ['"a b"@host.internal', '"a b"@example.org'],
  ['Ada <"a b"@host.internal>, b@host.internal', 'Ada <"a b"@example.org>, b@example.org'],
  ['root (Cron) @host.internal', 'root@example.org (Cron) '],
  ['root @ host.internal', 'root@example.org  '],
  ['Ada < ada (x) @ host.internal >', 'Ada <ada@example.org>'],
  ['<@relay.example,@b.example:root@host.internal>', '<root@example.org>'],
  ['friends: root@host.internal;', 'friends: root@example.org;'],
  ['Cron root@host.internal', 'Cron root@example.org'],
  ['"root@host.internal" <a@b.example>', '"root@host.internal" <a@b.example>'],
  ['"root@host.internal"', '"root@host.internal"'],
  ['(root@host.internal) < a@b.example >', '(root@host.internal) < a@b.example >'],
])('of %j is shown %j', (text, became) => {
  const shown = (address: string): string => address.replace(/@host\.internal$/, '@example.org')
  expect(shownField(`From: ${text}\r\n`, shown)).toBe(`From: ${became}\r\n`)
})
