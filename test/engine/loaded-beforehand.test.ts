/** What simulated stages load beforehand is what a queue loads late. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const modulesIn = (path: string, pattern: RegExp): string[] =>
  Array.from(
    readFileSync(new URL(path, import.meta.url), 'utf8').matchAll(pattern),
    ([, name]) => name!,
  ).sort()

test('simulated stages load all modules beforehand that a queue on a disk loads late', () => {
  const late = modulesIn('../../src/queue.ts', /await import\('\.\/([^']+)'\)/g)
  expect(late.length).toBeGreaterThan(1)
  const before = modulesIn('loaded-beforehand.ts', /^import '\.\.\/\.\.\/src\/([^']+)'$/gm)
  // A store is not simulated by a stage.
  expect(late).toEqual([...before, 'engine/open-in-store.js'].sort())
})
