/** Tier 2 with windows and bounds so small that each is met: what only much mail or a slow disk
 * shows otherwise. Uses the build in dist/, like `npm run crash -- --narrow`. */
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type * as RandomRun from '../../src/sim/hunt/random-run.js'
import type * as Torture from '../../src/sim/hunt/torture.js'
import { narrowed } from '../../tools/crash/narrowing.js'
import { lines } from './fixture.js'

const dist = fileURLToPath(new URL('../../dist', import.meta.url))
const copy = await narrowed(dist)
const imported = async <M>(file: string): Promise<M> =>
  (await import(pathToFileURL(`${copy}/src/sim/${file}`).href)) as M

test('no promise is broken where every window cuts and every bound is met', async () => {
  const { randomRun } = await imported<typeof RandomRun>('hunt/random-run.js')
  const { tortureRun } = await imported<typeof Torture>('hunt/torture.js')
  for (let seed = 1; seed <= 6; seed++) {
    expect(lines((await randomRun({ seed })).findings)).toEqual([])
    expect(lines((await tortureRun({ seed })).findings)).toEqual([])
  }
})
