/** What a table of senders makes of an address. */
import { expect, test } from 'vitest'
import { isWaybillError } from '../../../src/errors.js'
import { sendersIn, shownSender } from '../../../src/relay/tables/senders.js'

const senders = sendersIn(
  [
    '# ours',
    'root@host.internal  ops@example.org',
    '@host.internal\t@Example.ORG',
    '.internal @example.net',
    'ada@example.org other@example.org',
    '"a b"@host.internal ab@example.org',
    '@localhost all@example.org',
    '@[127.0.0.1] @example.org',
    '@exämple.org @xn--exmple-cua.net',
  ].join('\r\n'),
  'senders',
)

test.each([
  ['root@host.internal', 'ops@example.org'],
  ['ROOT@HOST.internal.', 'ops@example.org'],
  ['Ada.Lovelace+x@host.internal', 'Ada.Lovelace+x@example.org'],
  // The line for ada@example.org is not asked.
  ['ada@host.internal', 'ada@example.org'],
  ['ada@example.org', 'other@example.org'],
  ['root@web.host.internal', 'root@example.net'],
  ['root@internal', 'root@internal'],
  ['"a b"@host.internal', 'ab@example.org'],
  ['"c d"@host.internal', '"c d"@example.org'],
  ['root@localhost', 'all@example.org'],
  ['root@[127.0.0.1]', 'root@example.org'],
  ['u@xn--exmple-cua.org', 'u@xn--exmple-cua.net'],
  ['eve@elsewhere.example', 'eve@elsewhere.example'],
  ['', ''],
  ['root', 'root'],
])('%s is %s to the world', (address, shown) => {
  expect(shownSender(senders, address)).toBe(shown)
})

test('a sender that would be too long stays as it is', () => {
  const address = `${'a'.repeat(490)}@h`
  const table = sendersIn(`@h @${'b'.repeat(40)}.example`, 'senders')
  expect(shownSender(table, address)).toBe(address)
  expect(shownSender(table, 'a@h')).toBe(`a@${'b'.repeat(40)}.example`)
})

test.each([
  ['', undefined],
  ['root ops@example.org', 1],
  ['example.org @example.net', 1],
  ['@a.example', 1],
  ['@a.example @b.example @c.example', 1],
  ['@a.example b.example', 1],
  ['@.a.example @b.example', 1],
  ['a@@b.example c@d.example', 1],
  ['@a.example ü@b.example', 1],
  ['@a.example @b.example\n@A.example @c.example', 2],
])('of %j it refuses line %s', (text, line) => {
  let thrown: unknown
  try {
    sendersIn(text, 'senders')
  } catch (error) {
    thrown = error
  }
  expect(isWaybillError(thrown, 'OPTION_INVALID') && thrown.place).toEqual({
    option: 'senders',
    path: 'senders',
    ...(line === undefined ? undefined : { line }),
  })
})
