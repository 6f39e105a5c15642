import { expect, test } from 'vitest'
import {
  axisDigits,
  bytesText,
  counted,
  digits,
  fromNow,
  rateDigits,
  shown,
  shownLines,
  shownTime,
  spanText,
} from '../../src/console/facts/format.js'

test('digits stand in threes that no line end parts', () => {
  expect(digits(1234567)).toBe('1\u202f234\u202f567')
  expect(digits(999)).toBe('999')
  expect(counted(1, 'message')).toBe('1 message')
  expect(counted(1000, 'message')).toBe('1\u202f000 messages')
})

test('a rate under ten has one decimal, and nothing is 0', () => {
  expect([0, 0.04, 9.94, 9.96, 1234].map(rateDigits)).toEqual(['0', '0.0', '9.9', '10', '1\u202f234'])
})

test('steps of an axis are those that are drawn', () => {
  expect([0, 0.25, 0.5, 1, 1250].map(axisDigits)).toEqual(['0', '0.25', '0.5', '1', '1\u202f250'])
})

test('an amount of bytes has the largest unit that it reaches', () => {
  expect([17, 1023, 1024, 1_500_000, 240 * 2 ** 30].map(bytesText)).toEqual([
    '17 bytes',
    '1\u202f023 bytes',
    '1.0 KiB',
    '1.4 MiB',
    '240 GiB',
  ])
})

test('a span has its two largest units', () => {
  expect([0, 200, 40_000, 3_960_000, 442_800_000, Infinity].map(spanText)).toEqual([
    '0s',
    '200ms',
    '40s',
    '1h6m',
    '5d3h',
    'for ever',
  ])
  expect([fromNow(5000, 5400), fromNow(65_000, 5000), fromNow(5000, 65_000)]).toEqual([
    'now',
    'in 1m',
    '1m ago',
  ])
})

test("a time is the reader's and the log's", () => {
  const at = Date.UTC(2026, 10, 26, 3, 31, 7)
  expect(shownTime(at, at).utc).toBe('2026-11-26 03:31:07Z')
  expect(shownTime(at, Date.UTC(2027, 5, 1)).local).toMatch(/ 2026 /)
  expect(shownTime(Number.NaN, at).local).toBe('?')
})

test('marks that turn the direction of writing, and controls, stand there as their code points', () => {
  expect(shown('invoice\u202Efdp.exe')).toBe('invoice⟨U+202E⟩fdp.exe')
  expect(shown('a\u0007b\u2028c')).toBe('a⟨U+0007⟩b⟨U+2028⟩c')
  expect(shown('żółw 亀')).toBe('żółw 亀')
  expect(shown('x'.repeat(10_000)).length).toBe(2001)
  expect(shownLines('a\tb\u202e\r\nc')).toBe('a\tb⟨U+202E⟩\nc')
})
