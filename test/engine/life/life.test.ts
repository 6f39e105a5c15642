/** What the clock of a life would show, had nobody set it. */
import { expect, test } from 'vitest'
import { LifeClock } from '../../../src/engine/life/life.js'
import { SimWorld } from '../../../src/sim/world/world.js'

const dayMs = 86_400_000
const begin = Date.UTC(2026, 10, 25)

/** @param writtenAtMs when the life before wrote last */
function lifeAfter(writtenAtMs: number): { world: SimWorld; clock: LifeClock } {
  const world = new SimWorld({ seed: 1, wallStartMs: begin })
  return { world, clock: new LifeClock(world.clock, writtenAtMs) }
}

test('setting the clock changes the wall time, and not what it would be without that', () => {
  const { world, clock } = lifeAfter(0)
  world.clock.stepWall(3650 * dayMs)
  expect([clock.wallMs() - begin, clock.unsetWallMs() - begin]).toEqual([3650 * dayMs, 0])
})

test.each([
  ['a week ago', begin - 7 * dayMs, begin],
  ['ten years ago: it goes on from there', begin - 3650 * dayMs, begin - 3650 * dayMs],
  ['ten years later: it goes on from there', begin + 3650 * dayMs, begin + 3650 * dayMs],
])('a life whose journal was written %s', (_, writtenAtMs, shownMs) => {
  expect(lifeAfter(writtenAtMs).clock.unsetWallMs()).toBe(shownMs)
})
