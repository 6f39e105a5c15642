import { scryptSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { formatHash, hashOf, isPassword, parseHash } from '../../../src/relay/tables/password-hash.js'
import { hashOfCost } from './users-fixture.js'

const salt = 'aM15713r3Xsvxbi31lqr1Q'
const key = 'nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E'

test("passlib's hash of `password` is taken", async () => {
  const hash = parseHash(`$scrypt$ln=16,r=8,p=1$${salt}$${key}`)!
  expect(await isPassword('password', hash)).toBe(true)
  expect(await isPassword('Password', hash)).toBe(false)
})

test('a hash comes back from its text, and knows its password and no other', async () => {
  const hash = await hashOf('p:w d')
  const text = formatHash(hash)
  expect(text).toMatch(/^\$scrypt\$ln=15,r=8,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  const read = parseHash(text)!
  expect(await isPassword('p:w d', read)).toBe(true)
  expect(await isPassword('p:w d ', read)).toBe(false)
  expect(await isPassword('', read)).toBe(false)
})

test.each([
  [8, 16],
  [64, 64],
])(
  'a hash of another cost, with %d bytes of salt and %d of key, knows its password',
  async (saltBytes, keyBytes) => {
    const salt = Buffer.alloc(saltBytes, 7)
    const cost = { ln: 3, r: 3, p: 2 }
    const key = scryptSync('secret', salt, keyBytes, { N: 2 ** 3, r: 3, p: 2 })
    const hash = parseHash(formatHash({ ...cost, salt, key }))!
    expect(hash).toEqual({ ...cost, salt, key })
    expect(await isPassword('secret', hash)).toBe(true)
    expect(await isPassword('Secret', hash)).toBe(false)
  },
)

test('two hashes of one password have nothing in common', async () => {
  const [first, second] = [await hashOf('x'), await hashOf('x')]
  expect(first.salt).not.toEqual(second.salt)
  expect(first.key).not.toEqual(second.key)
})

test('a letter with its accent is the same, typed as one code point or as two', async () => {
  expect(await isPassword('e\u0301', hashOfCost('\u00e9', 2))).toBe(true)
})

test.each(['x\u00b2', 'x\u00b4', '\ufb01', 'e\u0301'])(
  "passlib's hash of %s, which it takes as it is typed, knows it",
  async (password) => {
    expect(await isPassword(password, hashOfCost(password, 2))).toBe(true)
    expect(await isPassword(`${password}x`, hashOfCost(password, 2))).toBe(false)
  },
)

test.each([
  ['no text', ''],
  ['a password', 'secret'],
  ['another scheme', `$2b$12$${salt}${key}`],
  ['without a cost', `$scrypt$$${salt}$${key}`],
  ['N of one', `$scrypt$ln=0,r=8,p=1$${salt}$${key}`],
  ['no blocks', `$scrypt$ln=15,r=0,p=1$${salt}$${key}`],
  ['no rounds', `$scrypt$ln=15,r=8,p=0$${salt}$${key}`],
  ['N too large for r', `$scrypt$ln=16,r=1,p=1$${salt}$${key}`],
  ['more memory than the bound', `$scrypt$ln=20,r=8,p=1$${salt}$${key}`],
  ['more rounds than the bound', `$scrypt$ln=15,r=8,p=17$${salt}$${key}`],
  ['no salt', `$scrypt$ln=15,r=8,p=1$$${key}`],
  ['a salt of 7 bytes', `$scrypt$ln=15,r=8,p=1$AAAAAAAAAA$${key}`],
  ['no key', `$scrypt$ln=15,r=8,p=1$${salt}$`],
  ['a key of 15 bytes', `$scrypt$ln=15,r=8,p=1$${salt}$AAAAAAAAAAAAAAAAAAAA`],
  ['a key of 65 bytes', `$scrypt$ln=15,r=8,p=1$${salt}$${'A'.repeat(87)}`],
  ['something behind it', `$scrypt$ln=15,r=8,p=1$${salt}$${key}:x`],
])('%s is no hash', (_, text) => {
  expect(parseHash(text)).toBeUndefined()
})

test('what costs as much as the bound is one', async () => {
  const hash = parseHash(`$scrypt$ln=15,r=8,p=16$${salt}$${key}`)!
  expect(await isPassword('password', hash)).toBe(false)
})
