import { expect, test } from 'vitest'
import { AgeTable, domainCountMax } from '../../../src/inspect/figures/age-table.js'

const minuteMs = 60_000

const bucketsOf = (linear: boolean, ...agesMs: number[]): readonly number[] => {
  const table = new AgeTable(4, 5 * minuteMs, linear)
  for (const ageMs of agesMs) table.add('example.net', ageMs)
  expect(table.domains).toEqual([{ ...table.total, domain: 'example.net' }])
  return table.total.buckets
}

test('an age that is the end of a bucket is counted in the next one, and the last one has no end', () => {
  const around = (minutes: number): number[] => [minutes * minuteMs - 1, minutes * minuteMs]
  expect(bucketsOf(false, 0, ...around(5), ...around(10), ...around(20), 1e12)).toEqual([2, 2, 2, 2])
  expect(bucketsOf(true, 0, ...around(5), ...around(10), ...around(15), 1e12)).toEqual([2, 2, 2, 2])
})

test('mail from the future is as young as can be', () => {
  expect(bucketsOf(false, -3_600_000)).toEqual([1, 0, 0, 0])
  expect(bucketsOf(true, -3_600_000)).toEqual([1, 0, 0, 0])
})

test.each([1, 100, 1001, 60_000])(
  'no two buckets have one name, where the first ends at %d ms',
  (firstMs) => {
    for (const linear of [false, true]) {
      const { heads } = new AgeTable(60, firstMs, linear)
      expect(new Set(heads).size).toBe(60)
    }
  },
)

test('the largest domain is the first, of one size the shorter name, then the alphabet', () => {
  const table = new AgeTable(2, minuteMs, false)
  for (const domain of ['b.example', 'long.example', 'a.example', 'last.example', 'long.example'])
    table.add(domain, 0)
  expect(table.domains.map(({ domain }) => domain)).toEqual([
    'long.example',
    'a.example',
    'b.example',
    'last.example',
  ])
})

test('domains beyond the bound are counted together, and none that was known before', () => {
  const table = new AgeTable(2, minuteMs, false)
  for (let i = 0; i < domainCountMax + 3; i++) table.add(`${i}.example`, 0)
  table.add('0.example', 0)
  expect(table.domains.slice(0, 2)).toEqual([
    { domain: '(others)', total: 3, buckets: [3, 0] },
    { domain: '0.example', total: 2, buckets: [2, 0] },
  ])
  expect(table.total.total).toBe(domainCountMax + 4)
})

test('a parent domain counts what is below it, when that is enough', () => {
  const ages = new AgeTable(2, 60_000, false)
  for (const domain of ['example.com', 'a.example.com', 'b.example.com', 'x.b.example.com', 'other.net'])
    ages.add(domain, 0)
  ages.add('b.example.com', 120_000)
  const shown = (min: number): unknown =>
    ages.domainsWithParents(min).map(({ domain, total, buckets }) => [domain, total, ...buckets])
  expect(shown(3)).toEqual([
    ['.example.com', 4, 3, 1],
    ['b.example.com', 2, 1, 1],
    ['other.net', 1, 1, 0],
    ['example.com', 1, 1, 0],
    ['a.example.com', 1, 1, 0],
    ['x.b.example.com', 1, 1, 0],
  ])
  expect(shown(4)).toEqual(ages.domains.map(({ domain, total, buckets }) => [domain, total, ...buckets]))
  expect((shown(1) as unknown[]).slice(0, 3)).toEqual([
    ['.example.com', 4, 3, 1],
    ['b.example.com', 2, 1, 1],
    ['other.net', 1, 1, 0],
  ])
})
