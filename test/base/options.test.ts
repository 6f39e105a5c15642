/** Names and values of options. */
import { expect, test } from 'vitest'
import {
  checkOptionNames,
  hostOption,
  integerOption,
  isRecordText,
  methodsOption,
  signalOption,
} from '../../src/base/options.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { smtpTransport } from '../../src/relay/smtp-out/smtp-out.js'

const text = '25' as unknown as number

test.each([
  ['an integer', () => integerOption('n', text, 1, 100), "'25' is not an integer from 1 to 100 (option n)"],
  ['a port', () => smtpTransport({ port: text }), "'25' is not an integer from 1 to 65535 (option port)"],
  ['an interval', () => fixedRetry([text]), "'25' is not a whole number of milliseconds"],
])('%s that is given as text is refused as text', (_, give, message) => {
  expect(give).toThrow(message)
})

test('an integer may be either bound, and nothing beside them', () => {
  expect([integerOption('n', 1, 1, 3), integerOption('n', 3, 1, 3)]).toEqual([1, 3])
  for (const value of [0, 4, 1.5, Number.NaN, Infinity, 2 ** 53])
    expect(() => integerOption('n', value, 1, 3)).toThrow('is not an integer from 1 to 3 (option n)')
})

test('the text of a record has as many bytes as there may be, and whole characters', () => {
  expect(['a', 'abcd', 'üü', '\u{1f4ec}'].map((text) => isRecordText(text, 4))).toEqual(Array(4).fill(true))
  const wrong = ['', 'abcde', 'üüü', '\u{1f4ec}a', '\ud83d', '\udcec', 7, null]
  expect(wrong.map((value) => isRecordText(value, 4))).toEqual(wrong.map(() => false))
})

test('what is called later has all that is called', () => {
  const names = { wallMs: true, after: true } as const
  const whole = { wallMs: () => 0, after: () => 0 }
  expect(methodsOption('clock', whole, names)).toBe(whole)
  for (const value of [{ wallMs: () => 0 }, { ...whole, after: 5 }, null, undefined] as unknown[])
    expect(() => methodsOption('clock', value as typeof whole, names)).toThrow(
      /after is no function \(option clock\)/,
    )
})

test('a host is a word of at most 255 characters', () => {
  expect(hostOption('host', 'x'.repeat(255))).toHaveLength(255)
  for (const value of ['', 'a b', 'a\0', 'x'.repeat(256), 7 as unknown as string])
    expect(() => hostOption('host', value)).toThrow(/is no host \(option host\)/)
})

test('a signal is one that somebody can abort, or none', () => {
  signalOption(undefined)
  signalOption(AbortSignal.abort())
  for (const value of [null, {}, { aborted: false }, true] as unknown[])
    expect(() => signalOption(value as AbortSignal)).toThrow('expected the signal of an AbortController')
})

interface Options {
  readonly size?: number
  readonly name?: string
}

const check = (given: unknown, within?: string): void =>
  checkOptionNames(given as Options, { size: true, name: true }, within)

test.each([{}, { size: 1 }, { name: undefined, size: 2 }])('%j has names that there are', (given) => {
  expect(() => check(given)).not.toThrow()
})

test.each(['Size', 'constructor', 'toString'])(
  'an option %s is refused, and which there are is told',
  (name) => {
    expect(() => check({ [name]: 1 })).toThrow(`no such option; there are size, name (option ${name})`)
    expect(() => check({ [name]: 1 }, 'attempt')).toThrow(`(option attempt.${name})`)
  },
)

test.each([[null], [false], ['size'], [undefined]])('%j in the place of options is refused', (given) => {
  expect(() => check(given)).toThrow('expected an object with size, name')
  expect(() => check(given, 'attempt')).toThrow('(option attempt)')
})
