import { expect, test } from 'vitest'
import { isWaybillError } from '../../../src/errors.js'
import { ProblemError } from '../../../src/http/wire/problem-details.js'
import { newToken, soleToken, tokenLine, tokensIn } from '../../../src/http/wire/tokens.js'

const day = 86_400_000
const now = Date.parse('2026-11-26T00:00:00Z')

const codeOf = (call: () => unknown): string => {
  try {
    call()
    return 'fine'
  } catch (error) {
    return error instanceof ProblemError || isWaybillError(error) ? error.code : String(error)
  }
}

test('a token is known by its hash until its time is over', () => {
  const [one, two] = [newToken(), newToken()]
  const lines = [
    '# who may do what',
    tokenLine(one, { name: 'one', scopes: ['read'], expiresAt: now + day }),
    tokenLine(two, { name: 'two', scopes: ['submit', 'operate'], expiresAt: undefined }),
  ]
  const tokens = tokensIn(lines.join('\n'), 'tokens')
  expect(tokens.size).toBe(2)
  expect(tokens.tokenIn(`Bearer ${one}`, now).name).toBe('one')
  expect(tokens.tokenIn(`bearer  ${two} `, now).scopes).toEqual(['submit', 'operate'])
  expect(codeOf(() => tokens.tokenIn(`Bearer ${one}`, now + day))).toBe('TOKEN_EXPIRED')
  for (const header of ['Bearer wrong', `Bearer ${one}x`, `Bearer ${'x'.repeat(10_000)}`])
    expect(codeOf(() => tokens.tokenIn(header, now))).toBe('TOKEN_INVALID')
  for (const header of [undefined, '', 'Bearer', `Basic ${one}`, `Bearer ${one} ${two}`])
    expect(codeOf(() => tokens.tokenIn(header, now))).toBe('TOKEN_MISSING')
})

test('a token that has lost a scope, or its line, is no more what it was', () => {
  const text = newToken()
  const with2 = tokensIn(
    tokenLine(text, { name: 'a', scopes: ['read', 'operate'], expiresAt: undefined }),
    'f',
  )
  const with1 = tokensIn(tokenLine(text, { name: 'a', scopes: ['read'], expiresAt: undefined }), 'f')
  const token = with2.tokenIn(`Bearer ${text}`, now)
  expect(codeOf(() => with2.checkStill(token, now))).toBe('fine')
  expect(codeOf(() => with1.checkStill(token, now))).toBe('TOKEN_INVALID')
  expect(codeOf(() => soleToken(newToken()).checkStill(token, now))).toBe('TOKEN_INVALID')
})

test.each([
  ['no hash', 'ada read'],
  ['the token itself', 'ada read wbt_abcdefghijklmnopqrstuvwxyz'],
  ['an unknown scope', `ada all sha256:${'0'.repeat(64)}`],
  ['a name with a colon', `a:b read sha256:${'0'.repeat(64)}`],
  ['a time that is none', `ada read sha256:${'0'.repeat(64)} until=tomorrow`],
  ['one word more', `ada read sha256:${'0'.repeat(64)} until=2027-01-01 x`],
  ['the same name twice', `ada read sha256:${'0'.repeat(64)}\nada read sha256:${'1'.repeat(64)}`],
])('a line with %s is refused by its place', (_, text) => {
  const place = { option: 'http-tokens', path: 'tokens', line: text.split('\n').length }
  expect(() => tokensIn(text, 'tokens')).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', place }) as Error,
  )
})
