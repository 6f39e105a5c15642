/** What may be asked for, at its limits, and the forms that it has in SMTP. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  fromXtext,
  isEnvid,
  isOrcpt,
  notifyBits,
  notifyOf,
  notifyOfWords,
  orcptXtext,
  retOfWord,
  tells,
  xtext,
} from '../../src/base/notification.js'

test('each request comes back from its number, and nothing asked is none', () => {
  for (const notify of ['never', ['success'], ['failure', 'delay'], ['success', 'failure', 'delay']] as const)
    expect(notifyOf(notifyBits(notify)!)).toEqual(notify)
  expect(notifyBits(undefined)).toBe(0)
  expect(notifyOf(0)).toBeUndefined()
})

test.each([
  [[]],
  [['never', 'failure']],
  [['failure', 'never']],
  [['constructor']],
  ['success'],
  [null],
  [7],
])('%j asks for nothing that there is', (words) => {
  expect(notifyBits(Array.isArray(words) ? notifyOfWords(words) : words)).toBeUndefined()
})

test('a sender that asks for nothing hears of failures and delays, one that asks for never hears of nothing', () => {
  const told = (asked: unknown): boolean[] =>
    (['success', 'failure', 'delay'] as const).map((when) => tells(notifyBits(asked)!, when))
  expect(told(undefined)).toEqual([false, true, true])
  expect(told('never')).toEqual([false, false, false])
  expect(told(['success', 'delay'])).toEqual([true, false, true])
})

test('RET has two words, in any letters', () => {
  expect(['full', 'HDRS', 'Full', 'headers', 'constructor', ''].map(retOfWord)).toEqual([
    'full',
    'headers',
    'full',
    undefined,
    undefined,
    undefined,
  ])
})

test('an envelope id is printable, and has 100 octets as xtext', () => {
  expect(['x', 'a b', '='.repeat(33), 'x'.repeat(100)].map(isEnvid)).toEqual([true, true, true, true])
  expect(['', 'ü', 'a\tb', '='.repeat(34), 'x'.repeat(101)].map(isEnvid)).toEqual(Array(5).fill(false))
})

test('an original recipient has a type and an address, and 500 octets with the address as xtext', () => {
  const longest = `rfc822;${'='.repeat(164)}x`
  expect(['rfc822;a@b', 'x-a;;', longest].map(isOrcpt)).toEqual([true, true, true])
  const wrong = [
    '',
    'a@b',
    ';a@b',
    'rfc822;',
    'rfc 822;a@b',
    'utf-8;ü@b',
    `${'t'.repeat(61)};a`,
    `${longest}x`,
  ]
  expect(wrong.map(isOrcpt)).toEqual(wrong.map(() => false))
  expect(orcptXtext(longest)).toHaveLength(500)
  expect(orcptXtext('rfc822;a+b@c')).toBe('rfc822;a+2Bb@c')
})

test('what is written as xtext has no blank, and comes back', () => {
  expect(xtext('a=b +c')).toBe('a+3Db+20+2Bc')
  const anyAscii = fc.string({ unit: 'binary-ascii', minLength: 1 })
  fc.assert(
    fc.property(anyAscii, (text) => {
      expect(xtext(text)).toMatch(/^[!-<>-~]+$/)
      expect(fromXtext(xtext(text))).toBe(text)
    }),
  )
})

test.each(['', 'a b', 'a=b', 'a+', 'a+2', 'a+2b', 'ü'])('%j is no xtext', (text) => {
  expect(fromXtext(text)).toBeUndefined()
})
