import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import {
  isBytes,
  isDate,
  isError,
  isMap,
  isProgramError,
  isThenable,
  thrownText,
} from '../../src/base/realms.js'

/** What the text is in another realm. */
const foreign = (text: string): unknown => runInNewContext(text)

test.each([
  [isError, 'new Error("x")'],
  [isError, 'new (class Own extends TypeError {})("x")'],
  [isProgramError, 'new RangeError("x")'],
  [isBytes, 'new Uint8Array(3)'],
  [isThenable, 'Promise.resolve(1)'],
  [isThenable, '(async () => {})()'],
  [isDate, 'new Date()'],
  [isMap, 'new Map()'],
])('%o knows %s of another realm, and nothing else', (is, text) => {
  expect(is(foreign(text))).toBe(true)
  for (const other of ['({})', '"x"', '[]', 'new Set()', 'new Uint16Array(2)', 'undefined', 'null', '5'])
    expect([other, is(foreign(other))]).toEqual([other, false])
})

test('ours are known, too', () => {
  const all = [
    isError(new DOMException('x', 'AbortError')),
    isError(new TypeError('x')),
    isBytes(Buffer.from('x')),
    isThenable(Promise.resolve()),
    isDate(new Date(Number.NaN)),
    isMap(new Map()),
  ]
  expect(all).toEqual(all.map(() => true))
  expect(isProgramError(new Error('x'))).toBe(false)
})

test('a thrown value says what it has to say', () => {
  expect([thrownText(foreign('new Error("x")')), thrownText('y'), thrownText(undefined)]).toEqual([
    'x',
    'y',
    'undefined',
  ])
})

test('an error without a message says what is in it, or its code, or its name', () => {
  const refused = [new Error('connect ECONNREFUSED ::1:25'), new Error('connect ECONNREFUSED 127.0.0.1:25')]
  expect(thrownText(new AggregateError(refused))).toBe(
    'connect ECONNREFUSED ::1:25; connect ECONNREFUSED 127.0.0.1:25',
  )
  expect(thrownText(new AggregateError(refused, 'nobody answers'))).toBe('nobody answers')
  expect(thrownText(Object.assign(new AggregateError([new Error()]), { code: 'EPIPE' }))).toBe('EPIPE')
  expect(thrownText(new RangeError())).toBe('RangeError')
})
