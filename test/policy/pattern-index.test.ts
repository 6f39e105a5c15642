/** Many patterns: the answer is that of trying each in turn. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { globMatches, parseGlob } from '../../src/policy/glob.js'
import { PatternIndex } from '../../src/policy/pattern-index.js'
import { processorMs } from '../processor-time.js'

const pattern = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?'), maxLength: 6 }),
  fc.constantFrom('*.a', '*', 'a{b,*.b}', '[ab]*', '\\*a', '*a*', '{a.b,*b}', ''),
)
const name = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '\u{1f4ec}'), maxLength: 6 })

test('the first pattern is found that matches, whatever its form', () => {
  fc.assert(
    fc.property(fc.array(pattern, { maxLength: 12 }), fc.array(name, { maxLength: 5 }), (patterns, names) => {
      const index = new PatternIndex(patterns)
      const globs = patterns.map(parseGlob)
      for (const one of names) {
        const first = globs.findIndex((glob) => globMatches(glob, one))
        expect(index.find(one)).toBe(first < 0 ? undefined : first)
      }
    }),
    { numRuns: 1000 },
  )
})

test('ten thousand domains cost a name nothing', () => {
  const index = new PatternIndex(Array.from({ length: 10_000 }, (_, n) => `*@customer${n}.example.org`))
  const names = Array.from({ length: 5000 }, (_, n) => `bounce+${n}-ada=a.example@news.example.net`)
  const spentMs = processorMs(() => {
    for (const one of names) expect(index.find(one)).toBe(undefined)
  })
  expect(spentMs).toBeLessThan(1000)
  expect(index.find('ada@customer9999.example.org')).toBe(9999)
})
