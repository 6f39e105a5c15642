/** A short run of each part of `npm run crash:real`. What cannot run here is skipped
 * with the reason. */
import { afterAll, expect, test } from 'vitest'
import { diskFull, scenes } from '../../tools/crash-real/full.js'
import { killLoop } from '../../tools/crash-real/kill.js'
import { powerCuts } from '../../tools/crash-real/power.js'
import type { CaseResult, Run } from '../../tools/crash-real/session.js'
import { failingCalls, failures } from '../../tools/crash-real/strace.js'
import { Undo } from '../../tools/crash-real/undo.js'

const undo = new Undo()
afterAll(undo.all)

const run = (cycles: number): Run => ({ undo, seed: 7, cycles, progress: () => undefined })

interface Skippable {
  readonly skip: (reason: string) => never
}

/** What is wrong, in words. Skips the test when nothing is, and not all of it could run. */
function wrongs(results: readonly CaseResult[], { skip }: Skippable): readonly string[] {
  const found = results.flatMap(({ part, name, violations }) =>
    violations.map(({ kind, what }) => `${part} ${name}: ${kind}: ${what}`),
  )
  const skipped = results.find((result) => result.skipped !== undefined)
  if (found.length === 0 && skipped !== undefined) skip(`${skipped.part} ${skipped.name}: ${skipped.skipped}`)
  return found.slice(0, 10)
}

test('what was settled survives SIGKILL', async (context) => {
  const results = await killLoop(run(4))
  expect(results[0]!.counts!.settled).toBeGreaterThan(0)
  expect(wrongs(results, context)).toEqual([])
})

test('what was settled survives a power cut of ext4, and without syncs it does not', async (context) => {
  expect(wrongs(await powerCuts(run(2), ['ext4']), context)).toEqual([])
})

test('what was settled survives a power cut of XFS, and without syncs it does not', async (context) => {
  expect(wrongs(await powerCuts(run(2), ['xfs']), context)).toEqual([])
})

test('a call that fails ends the life or rejects the submission, and loses nothing', async (context) => {
  const chosen = failures.filter(({ call, errno }) => /fdatasync|pwrite64/.test(call) && errno === 'EIO')
  expect(wrongs(await failingCalls(run(2), chosen), context)).toEqual([])
})

test(
  'a full disk refuses new mail, delivers what it has, and accepts again',
  { timeout: 180_000 },
  async (context) => {
    const chosen = scenes.filter(({ name }) => name === 'slow world')
    expect(wrongs(await diskFull(run(1), chosen), context)).toEqual([])
  },
)

test(
  'mail that finds no room for its deferral stays active until there is room',
  { timeout: 180_000 },
  async (context) => {
    const chosen = scenes.filter(({ name }) => name === 'deferring world, room is made')
    expect(wrongs(await diskFull(run(1), chosen), context)).toEqual([])
  },
)
