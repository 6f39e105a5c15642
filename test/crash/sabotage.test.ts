/** Tier 4: every guarantee that is taken away is missed by the harness. Uses the build in dist/,
 * like `npm run crash -- --sabotage`. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { clues } from '../../tools/crash/clues.js'
import { mutations } from '../../tools/crash/mutations.js'
import { sabotage } from '../../tools/crash/sabotage.js'

const dist = fileURLToPath(new URL('../../dist', import.meta.url))

test('each guarantee stands exactly once in the built engine', async () => {
  for (const { name, edits } of mutations)
    for (const { file, find } of edits) {
      const text = await readFile(`${dist}/src/${file}`, 'utf8')
      expect([name, file, text.split(find).length - 1]).toEqual([name, file, 1])
    }
  expect(mutations.length).toBeGreaterThanOrEqual(25)
})

test('each mutation has a clue', () => {
  expect(Object.keys(clues)).toEqual(mutations.map(({ name }) => name))
})

test('no guarantee can be taken away without a promise being broken', { timeout: 900_000 }, async () => {
  const verdicts = await sabotage(dist, { seed: 1, parallel: 2 })
  expect(verdicts.length).toBe(mutations.length)
  expect(verdicts.filter(({ found }) => !found).map(({ mutation }) => mutation.name)).toEqual([])
})
