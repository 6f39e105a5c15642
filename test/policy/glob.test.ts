import fc from 'fast-check'
import { expect, test } from 'vitest'
import { processorMs } from '../processor-time.js'
import { GlobError, globMatches, globMatchesAll, globsOverlap, parseGlob } from '../../src/policy/glob.js'

const wordOf = (characters: string, maxLength = 20): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...characters.split('')), maxLength })

test.each([
  ['*', '', true],
  ['*', 'anything.at.all', true],
  ['*.toronto.edu', 'cs.toronto.edu', true],
  ['*.toronto.edu', 'toronto.edu', false],
  ['*.toronto.edu', 'cs.toronto.edu.example', false],
  ['smtp?', 'smtp1', true],
  ['smtp?', 'smtp', false],
  ['[a-c]x', 'bx', true],
  ['[^a-c]x', 'bx', false],
  ['[!a-c]x', 'dx', true],
  ['[]]', ']', true],
  ['[a-]', '-', true],
  ['*.{edu,gov}', 'a.gov', true],
  ['*.{edu,gov}', 'a.com', false],
  ['a{,b}c', 'ac', true],
  ['\\*', '*', true],
  ['\\*', 'x', false],
  ['a*b*c', 'aXbYbc', true],
  ['a*b*c', 'aXbYb', false],
  ['SMTP', 'smtp', false],
  ['?', '\u{1f4ec}', true],
])('%s on %j: %s', (pattern, text, expected) => {
  expect(globMatches(parseGlob(pattern), text)).toBe(expected)
})

/** Why it is no pattern, and where. */
function refused(pattern: string): readonly [string, number] | undefined {
  try {
    globMatches(parseGlob(pattern), 'aaaa')
    return undefined
  } catch (error) {
    if (error instanceof GlobError) return [error.message, error.offset]
    throw error
  }
}

test.each([
  ['a[', '] after [', 1],
  ['[abc', '] after [', 0],
  ['x{a', '} after {', 1],
  ['{a{b}}', 'no braces inside braces', 2],
  ['ab\\', 'a character after \\', 2],
  ['x'.repeat(256), 'a pattern of at most 255 characters', 255],
  ['{a,b}'.repeat(7), 'at most 64 combinations of alternatives in braces', 30],
])('%s is refused with the place: expected %s', (pattern, expected, offset) => {
  expect(refused(pattern)).toEqual([expected, offset])
})

test('any text parses as a pattern or is refused at one of its characters', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), wordOf('a*?[]{},\\-^')), (pattern) => {
      const [, offset] = refused(pattern) ?? ['', 0]
      expect(offset).toBeLessThanOrEqual(pattern.length)
    }),
  )
})

const simplePattern = wordOf('ab*?', 8)
const word = wordOf('ab', 8)

test('matching agrees with a regular expression', () => {
  fc.assert(
    fc.property(simplePattern, word, (pattern, text) => {
      const regexp = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`)
      expect(globMatches(parseGlob(pattern), text)).toBe(regexp.test(text))
    }),
  )
})

test('two patterns overlap exactly if some word matches both', () => {
  const short = wordOf('ab*?', 4)
  const words = [...allWords(8)]
  fc.assert(
    fc.property(short, short, (a, b) => {
      const left = parseGlob(a)
      const right = parseGlob(b)
      const both = words.some((text) => globMatches(left, text) && globMatches(right, text))
      expect(globsOverlap(left, right)).toBe(both)
    }),
    { numRuns: 300 },
  )
})

test('only patterns of stars match everything', () => {
  expect(['*', '**', '{a,*}'].map((pattern) => globMatchesAll(parseGlob(pattern)))).toEqual([
    true,
    true,
    true,
  ])
  expect(['', '?*', '*a'].map((pattern) => globMatchesAll(parseGlob(pattern)))).toEqual([false, false, false])
})

test('a pattern of many stars is matched without backtracking over all of them', () => {
  const glob = parseGlob(`${'*a'.repeat(120)}b`)
  const tookMs = processorMs(() => {
    expect(globMatches(glob, 'a'.repeat(5000))).toBe(false)
  })
  expect(tookMs).toBeLessThan(2000)
})

function* allWords(lengthMax: number): Generator<string> {
  for (let length = 0; length <= lengthMax; length++)
    for (let bits = 0; bits < 2 ** length; bits++)
      yield Array.from({ length }, (_, i) => ((bits >> i) & 1 ? 'b' : 'a')).join('')
}
