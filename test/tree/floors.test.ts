/** A folder imports lower floors and itself, never a sibling on its own floor; what decides does
 * not touch the system. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  floorViolations,
  pureFolders,
  purityViolations,
  rooms,
  roomViolations,
  systemViolations,
} from './floors.js'
import { root, sourceOf, sourcesBelow } from './sources.js'

const sources = sourcesBelow('src')

test('the check sees the tree', () => {
  expect(sources.length).toBeGreaterThan(80)
  const engine = sources.find(({ path }) => path === 'src/engine/open.ts')
  expect(engine?.imports).toContain('src/log/journal.ts')
  expect(engine?.imports).toContain('src/disk/node-disk.ts')
})

test('every import goes to a lower floor or stays in its folder', () => {
  expect(sources.flatMap(floorViolations)).toEqual([])
})

test('every import inside a folder goes to a room named before, or stays in its room', () => {
  expect([...sources, ...sourcesBelow('tools')].flatMap(roomViolations)).toEqual([])
})

test('every room of the floors is there, and no folder of rooms has another', () => {
  const found = Object.keys(rooms).map((folder) => [
    folder,
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .filter((name) => `${folder}/${name}` !== 'src/sim/protocol')
      .sort(),
  ])
  const named = Object.entries(rooms).map(([folder, names]) => [
    folder,
    names.filter((name) => !name.endsWith('.ts')).sort(),
  ])
  expect(found).toEqual(named)
})

test('only the disk, the relay and named exceptions import modules of the system', () => {
  expect(sources.flatMap(systemViolations)).toEqual([])
})

test('nothing that is to be replayed asks the system for time, chance or a timer', () => {
  expect(sources.flatMap(purityViolations)).toEqual([])
})

test('pure folders import no package but the one that packs records', () => {
  const packages = sources
    .filter(({ path }) => pureFolders.some((folder) => path.startsWith(`src/${folder}/`)))
    .flatMap(({ path, imports }) =>
      imports
        .filter((module) => !module.startsWith('src/') && !/^msgpackr(?:\/|$)/.test(module))
        .map((module) => `${path} ${module}`),
    )
  expect(packages).toEqual([])
})

test.each([
  ['up', 'src/log/x.ts', "import { Lane } from '../lane/lane.js'"],
  ['to a sibling on the same floor', 'src/log/x.ts', "import type { A } from '../active/active-set.js'"],
  ['up by an export', 'src/base/x.ts', "export * from '../disk/disk.js'"],
  ['up by a dynamic import', 'src/base/x.ts', "const a = await import('../disk/disk.js')"],
  ['over lines', 'src/base/x.ts', "import {\n  a,\n  b,\n} from '../disk/disk.js'"],
  ['from a folder without a floor', 'src/utils/x.ts', ''],
  ['from the errors', 'src/errors.ts', "import { a } from './base/assert.js'"],
])('an import that goes %s is found', (_, path, text) => {
  expect(floorViolations(sourceOf(path, text))).toHaveLength(1)
})

test('an import of a room that stands higher is found, and one of a room below is fine', () => {
  const text = "import { a } from '../settle/settle.js'\nimport { b } from '../life/life.js'"
  expect(roomViolations(sourceOf('src/engine/start/x.ts', text))).toHaveLength(1)
  expect(roomViolations(sourceOf('src/engine/x.ts', "import { a } from './settle/settle.js'"))).toEqual([])
})

test('an import down, one that stays, and one of the errors are fine', () => {
  const text =
    "import '../base/assert.js'\nimport { a } from './segment.js'\nimport { b } from '../errors.js'"
  expect(floorViolations(sourceOf('src/log/x.ts', text))).toEqual([])
})

test('a system module, a clock or a timer where it does not belong is found, in a comment it is not', () => {
  expect(systemViolations(sourceOf('src/lane/x.ts', "import fs from 'node:fs'"))).toHaveLength(1)
  expect(systemViolations(sourceOf('src/engine/x.ts', "import fs from 'node:fs'"))).toHaveLength(1)
  const text =
    "const a = Date.now() + Math.random()\nsetTimeout(() => a, 1) // Date.now\n/** setTimeout */ const s = 'x' // 'y'"
  expect(purityViolations(sourceOf('src/engine/x.ts', text))).toHaveLength(3)
})
