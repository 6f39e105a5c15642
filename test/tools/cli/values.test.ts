import { expect, test } from 'vitest'
import {
  formatEndpoint,
  parseBytes,
  parseCount,
  parseDurations,
  parseEndpoint,
  parseWord,
} from '../../../tools/commands/cli/values.js'

test.each([
  ['127.0.0.1:2525', '127.0.0.1', 2525],
  ['mx.example.net:25', 'mx.example.net', 25],
  ['[::1]:25', '::1', 25],
  ['[mx.example.net]:25', 'mx.example.net', 25],
  ['[mx.example.net]', 'mx.example.net', 587],
  [':26', 'localhost', 26],
  ['2525', 'localhost', 2525],
  ['mx.example.net', 'mx.example.net', 587],
  ['0.0.0.0:0', '0.0.0.0', 0],
])('the endpoint %s is host %s and port %d', (text, host, port) => {
  expect(parseEndpoint('listen', text, 'localhost', 587)).toEqual({ host, port })
})

test.each(['a b:25', 'host:', 'host:99999', 'host:65536', '::1:25', '[::1', 'host:25x', '[a b]:25', '[]:25'])(
  '"%s" is no endpoint',
  (text) => {
    expect(() => parseEndpoint('listen', text, 'localhost', 25)).toThrow(/--listen takes HOST:PORT/)
  },
)

test('a host without a port needs one', () => {
  expect(() => parseEndpoint('relay', 'mx.example.net', 'localhost')).toThrow(/--relay/)
})

test.each(['127.0.0.1:25', '[::1]:25', 'mx.example.net:0'])('%s is written as it is read', (text) => {
  expect(formatEndpoint(parseEndpoint('x', text, ''))).toBe(text)
})

test.each([
  ['1000', 1000],
  ['2K', 2048],
  ['50M', 50 * 1024 * 1024],
  ['1g', 1024 ** 3],
])('%s is %d bytes', (text, bytes) => {
  expect(parseBytes('size-limit', text)).toBe(bytes)
})

test.each(['', '-1', '1.5M', '10X', 'M'])('"%s" is no number of bytes', (text) => {
  expect(() => parseBytes('size-limit', text)).toThrow(/--size-limit/)
})

test('retry times are a list of durations', () => {
  expect(parseDurations('retry', '1s, 2s,1m30s')).toEqual([1000, 2000, 90_000])
  expect(() => parseDurations('retry', '1s,,2s')).toThrow(/--retry/)
})

test('a count and a word are checked', () => {
  expect(parseCount('sessions', '12', 1)).toBe(12)
  expect(parseCount('sessions', '1', 1)).toBe(1)
  expect(() => parseCount('sessions', '0', 1)).toThrow(/at least 1/)
  expect(parseWord('received', 'no', ['yes', 'no'])).toBe('no')
  expect(() => parseWord('received', 'nein', ['yes', 'no'])).toThrow(/yes or no/)
})
