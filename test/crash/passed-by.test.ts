/** Tier 2 in small: runs in which other mail passes what waits for slow sites, so that segments are
 * cleaned amid all other trouble. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { ActiveSet } from '../../src/active/active-set.js'
import { randomRun } from '../../src/sim/hunt/random-run.js'
import { tortureRun } from '../../src/sim/hunt/torture.js'
import { lines } from './fixture.js'

/** How often a message is written anew: then its new start stands behind its new envelope. */
function counted(): () => number {
  let count = 0
  const restart = Reflect.get(ActiveSet.prototype, 'restart') as ActiveSet['restart']
  const spy = vi.spyOn(ActiveSet.prototype, 'restart').mockImplementation(function (
    this: ActiveSet,
    message,
    start,
  ) {
    if (start === message.place.position + message.place.bytes) count++
    restart.call(this, message, start)
  })
  onTestFinished(() => spy.mockRestore())
  return () => count
}

test('no chain of lives breaks a promise while mail is written anew in it', async () => {
  const count = counted()
  for (const seed of [100012, 100019, 100033])
    expect(lines((await tortureRun({ seed })).findings)).toEqual([])
  expect(count()).toBeGreaterThan(20)
})

test('no random run breaks a promise while mail is written anew in it', async () => {
  const count = counted()
  for (const seed of [100005, 100012, 100019]) expect(lines((await randomRun({ seed })).findings)).toEqual([])
  expect(count()).toBeGreaterThan(20)
})
