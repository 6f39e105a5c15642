/** Tier 2 in small: a few seeds of what `npm run crash` does by the thousand, and that a
 * seed is a run. */
import { expect, test } from 'vitest'
import { randomRun } from '../../src/sim/hunt/random-run.js'
import { rotBehindStarts } from '../../src/sim/hunt/rot-behind-starts.js'
import { rotRun } from '../../src/sim/hunt/rot-run.js'
import { carried } from '../../src/sim/workload/small-workloads.js'
import { lines } from './fixture.js'

test('no seed breaks a promise', async () => {
  for (let seed = 1000; seed < 1012; seed++) {
    const { findings, crashCount } = await randomRun({ seed })
    expect(lines(findings)).toEqual([])
    expect(crashCount).toBeGreaterThan(0)
  }
})

test('a bit that turns over harms only messages that the queue’s findings explain', async () => {
  let crashCount = 0
  // In the last of them a lane stands still while mail waits in others.
  for (const seed of [1000, 1001, 1002, 1003, 1004, 1005, 1048]) {
    const result = await rotRun({ seed })
    expect(lines(result.findings)).toEqual([])
    crashCount += result.crashCount
  }
  expect(crashCount).toBeGreaterThan(100)
})

test('a cut last batch brings back nothing that needs a file which a start has removed', async () => {
  for (const seed of [1, 2]) {
    const { findings, crashCount } = await rotBehindStarts(carried, { seed })
    expect(lines(findings)).toEqual([])
    expect(crashCount).toBeGreaterThan(100)
  }
})

test('a seed gives the same run twice', async () => {
  // One with mail and orders only, one that has more, and one that is disturbed.
  for (const seed of [1010, 13, 14]) {
    const first = await randomRun({ seed })
    expect(first.crashCount).toBeGreaterThan(10)
    expect(await randomRun({ seed })).toEqual(first)
  }
})
