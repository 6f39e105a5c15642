import { expect, test } from 'vitest'
import { failovers, kills, pairs } from '../../../src/sim/store/append-cases.js'
import { oneAppend, type AppendCase } from '../../../src/sim/store/one-append.js'

test.each([
  ['one question goes wrong, and the database fails over at any moment', failovers],
  ['one question goes wrong, and the owner is killed at any moment', kills],
  ['a second question goes wrong while the first is resolved', pairs],
] satisfies [string, readonly AppendCase[]][])('%s: what was answered is there', async (_, cases) => {
  const wrongs: unknown[] = []
  for (const given of cases) {
    const wrong = await oneAppend(given)
    if (wrong !== undefined) wrongs.push([wrong, given])
  }
  expect(wrongs).toEqual([])
})
