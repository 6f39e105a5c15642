/** Mail that is accepted while the clock is wrong by years is tried for its lifetime, and no
 * longer. */
import { expect, test } from 'vitest'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import type { SimClock } from '../../../src/sim/world/world.js'
import { deferred, mail, pause, simulated, submission, type Stage } from '../stage.js'

const yearMs = 31_557_600_000
/** Tried every ten seconds, for five minutes. */
const policy = { retry: fixedRetry([10_000], 300_000) }

const step = (stage: Stage, years: number): void => (stage.clock as SimClock).stepWall(years * yearMs)

const day = 1 / 365.25

test.each([
  ['goes back by six days', -6 * day],
  ['goes back by two months', -60 * day],
  ['goes two months ahead', 60 * day],
])('a clock that %s for a while ends no mail that it dated, nor other mail', async (_, years) => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    await stage.open(policy)
    const before = await stage.queue.submit(submission('before@example.net', mail('x')))
    await pause(stage, 30_000)
    step(stage, years)
    const meanwhile = await stage.queue.submit(submission('meanwhile@example.net', mail('x')))
    await pause(stage, 30_000)
    step(stage, -years)
    await pause(stage, 150_000)
    await stage.open(policy)
    await pause(stage, 20_000)
    expect(await stage.ids()).toEqual([before.id, meanwhile.id].sort())
    await pause(stage, 600_000)
    expect(await stage.isEmpty()).toBe(true)
  })
})

test('a clock that goes back by two minutes for a while keeps old mail for two minutes more', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    await stage.open({ retry: fixedRetry([10_000], 1_800_000) })
    const { id } = await stage.queue.submit(submission('old@example.net', mail('x')))
    await pause(stage, 1_500_000)
    const minuteYears = 60_000 / yearMs
    step(stage, -2 * minuteYears)
    await pause(stage, 30_000)
    step(stage, 2 * minuteYears)
    await pause(stage, 600_000)
    // A report of it may wait.
    expect(await stage.ids()).not.toContain(id)
  })
})

test.each([
  ['in 1970, which is mended while the relay runs', -56, false],
  ['in 1970, which is mended at a restart', -56, true],
  ['ten years ahead, which is mended while the relay runs', 10, false],
  ['ten years ahead, which is mended at a restart', 10, true],
])('a message that is accepted %s lives for five minutes, or ten', async (_, years, atRestart) => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    step(stage, years)
    await stage.open(policy)
    await stage.queue.submit(submission('r@example.net', mail('x')))
    await pause(stage, 30_000)
    step(stage, -years)
    if (atRestart) await stage.open(policy)
    await pause(stage, 200_000)
    expect((await stage.ids()).length).toBe(1)
    expect(stage.attempts.length).toBeGreaterThan(15)
    await pause(stage, 400_000)
    expect(await stage.isEmpty()).toBe(true)
  })
})
