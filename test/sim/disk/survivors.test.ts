import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededPrng } from '../../../src/base/prng.js'
import { survivorSets, type Requirements, type Survivors } from '../../../src/sim/disk/survivors.js'

const bounds = { exhaustiveUnitsMax: 7, randomStates: 16, statesMax: 64 }

/** Units of which each may require some earlier ones. */
const requirements: fc.Arbitrary<Requirements> = fc
  .array(fc.array(fc.nat(), { maxLength: 2 }), { maxLength: 40 })
  .map((units) => units.map((needed, unit) => (unit === 0 ? [] : needed.map((other) => other % unit))))

const setsOf = (requires: Requirements, seed = 0, over = bounds): Survivors[] =>
  Array.from(survivorSets(requires, Array.from(requires.keys()), over, seededPrng(seed)))

const free = (count: number): Requirements => Array.from({ length: count }, () => [])
const asText = ({ kept }: Survivors): string => kept.map((survives) => (survives ? '1' : '0')).join('')

test('no unit survives without what it requires', () => {
  const closed = (requires: Requirements, { kept }: Survivors): boolean =>
    requires.every((needed, unit) => !kept[unit] || needed.every((other) => kept[other]))
  fc.assert(
    fc.property(requirements, fc.nat(), (requires, seed) => {
      expect(setsOf(requires, seed).every((set) => closed(requires, set))).toBe(true)
    }),
  )
  expect(closed([[], [0]], { kept: [false, true], garbage: undefined })).toBe(false)
})

test('none and all are always among the sets, and the same seed gives the same sets', () => {
  expect(setsOf(free(12), 1)).not.toEqual(setsOf(free(12), 2))
  fc.assert(
    fc.property(requirements, fc.nat(), (requires, seed) => {
      const sets = setsOf(requires, seed)
      expect(sets.some(({ kept }) => kept.every((survives) => !survives))).toBe(true)
      expect(sets.some(({ kept }) => kept.every((survives) => survives))).toBe(true)
      expect(setsOf(requires, seed)).toEqual(sets)
    }),
  )
})

test('seven units give every set once, and garbage in each', () => {
  const sets = setsOf(free(7))
  const plain = sets.filter(({ garbage }) => garbage === undefined)
  expect(plain).toHaveLength(128)
  expect(new Set(plain.map(asText)).size).toBe(128)
  expect(sets.flatMap(({ garbage }) => garbage ?? [])).toEqual([0, 1, 2, 3, 4, 5, 6])
})

test('more units give every prefix, every single loss and every single survivor, when there is room for them', () => {
  const sets = new Set(setsOf(free(10), 0, { ...bounds, statesMax: 1_000 }).map(asText))
  for (let unit = 0; unit < 10; unit++) {
    expect(sets).toContain('1'.repeat(unit).padEnd(10, '0'))
    expect(sets).toContain(`${'1'.repeat(unit)}0${'1'.repeat(9 - unit)}`)
    expect(sets).toContain(`${'0'.repeat(unit)}1${'0'.repeat(9 - unit)}`)
  }
})

test('there are as many states as asked for, or all there are', () => {
  expect(setsOf(free(100))).toHaveLength(64)
  fc.assert(
    fc.property(fc.integer({ min: 8, max: 400 }), fc.integer({ min: 2, max: 80 }), (count, statesMax) => {
      const sets = setsOf(free(count), 0, { ...bounds, statesMax })
      expect(sets).toHaveLength(Math.min(statesMax, 4 * count + 17))
    }),
  )
})
