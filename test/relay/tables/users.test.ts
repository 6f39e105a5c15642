import { expect, test } from 'vitest'
import { WaybillError } from '../../../src/errors.js'
import { formatHash } from '../../../src/relay/tables/password-hash.js'
import { isUserName, usersIn } from '../../../src/relay/tables/users.js'
import { hashOfCost } from './users-fixture.js'

const word = formatHash(hashOfCost('secret', 2))

test('users are read from lines with comments, blank ones and Windows ends between them', () => {
  const users = usersIn(`# who\n\nada:${word}\r\n  # more\n \ngrace@example.net:${word}`, 'users')
  expect([...users.keys()]).toEqual(['ada', 'grace@example.net'])
  expect(formatHash(users.get('ada')!)).toBe(word)
})

test.each([
  ['a line without a hash', `ada\n`, 1],
  ['a password', `# who\nada:secret\n`, 2],
  ['a hash with a blank behind it', `ada:${word} \n`, 1],
  ['no name', `\n:${word}\n`, 2],
  ['a name with a blank', `ada b:${word}\n`, 1],
  ['a name that is no UTF-8', `\ufffd:${word}\n`, 1],
  ['a name that ends in no UTF-8', `Andr\ufffd:${word}\n`, 1],
  ['a name twice', `ada:${word}\nada:${word}\n`, 2],
])('%s is refused by its line, of which nothing is said', (_, text, line) => {
  let error: unknown
  try {
    usersIn(text, 'users')
  } catch (thrown) {
    error = thrown
  }
  expect(error).toMatchObject({ code: 'OPTION_INVALID', place: { option: 'auth', path: 'users', line } })
  expect((error as WaybillError).message).not.toMatch(/ada|secret|scrypt/)
})

test('a file without a user is refused', () => {
  expect(() => usersIn('# nobody\n', 'users')).toThrow(/there is no user/)
})

test.each([
  ['ada', true],
  ['ada@example.net', true],
  ['x'.repeat(255), true],
  ['x'.repeat(256), false],
  ['', false],
  ['#ada', false],
  ['a:b', false],
  ['a b', false],
  ['a\u0000', false],
])('%j is a name: %s', (name, isOne) => {
  expect(isUserName(name)).toBe(isOne)
})
