/** A look that comes when another life owns the queue. */
import { expect, test } from 'vitest'
import { pause } from '../../src/base/clock.js'
import { prngAt } from '../../src/base/prng.js'
import { Database } from '../../src/sim/store/database.js'
import { SimNode, SimProgram } from '../../src/sim/store/sim-node.js'
import { SimServer } from '../../src/sim/store/sim-server.js'
import { SimStore, type Fate } from '../../src/sim/store/sim-store.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { isWaybillError } from '../../src/errors.js'
import { StoreDisk } from '../../src/store/store-disk.js'

/** The unlink is lost on its way, and its node is paused so long after it was asked. The next owner
 * makes one change. @returns whether the unlink settled, and whether it has happened */
async function pausedAt(afterMs: number): Promise<{ isSettled: boolean; hasHappened: boolean }> {
  const world = new SimWorld({ seed: 1, order: 'fifo' })
  const database = new Database()
  database.makeQueue('q')
  const violate = (oracle: string, text: string): never => {
    throw new Error(`${oracle} ${text}`)
  }
  const server = new SimServer(world, { violate, owns: () => undefined }, database, 1)
  let fate: Fate = 'answered'
  const lifeOn = (name: string) => {
    const node = new SimNode(name, world)
    const program = new SimProgram(node, world)
    const prng = prngAt(1, name.length, 1)
    const fates = (): Fate => {
      const chosen = fate
      fate = 'answered'
      return chosen
    }
    const store = new SimStore({
      world,
      prng,
      program,
      servers: () => [server],
      fates,
      deadlineMs: 40,
      ghostMsMax: 1,
      unheardOneIn: 2 ** 31,
      newNonce: () => name,
    })
    const disk = new StoreDisk({
      store,
      queue: 'q',
      node: name,
      role: 'adopter',
      safety: 'required',
      ttlMs: 300,
      resumeMs: 20_000,
      clock: program.clock,
      prng,
    })
    return { node, disk, clock: program.clock }
  }
  const settle = <T>(promise: Promise<T>): Promise<T> =>
    world.settle(promise, { untilMs: world.nowMs + 20_000 })

  const first = lifeOn('first')
  await settle(first.disk.claim())
  await settle(first.disk.makeDirectory('spool'))
  await settle(first.disk.open('spool/old', 'create'))
  fate = 'lost'
  let isSettled = false
  const unlinked = first.disk.unlink('spool/old').then(
    () => (isSettled = true),
    () => undefined,
  )
  await world.run({ untilMs: world.nowMs + afterMs })
  first.node.pause()
  const next = lifeOn('second')
  await settle(claimed(next.disk, next.clock))
  await settle(next.disk.open('spool/new', 'create'))
  first.node.resume()
  await settle(unlinked)
  const hasHappened = !(await settle(next.disk.list('spool'))).includes('old')
  return { isSettled, hasHappened }
}

async function claimed(disk: StoreDisk, clock: SimProgram['clock']): Promise<void> {
  for (;;)
    try {
      await disk.claim()
      return
    } catch (error) {
      if (!isWaybillError(error, 'QUEUE_LOCKED')) throw error
      await pause(clock, 20, undefined)
    }
}

test('a change that was lost does not settle by the number of a change of the next owner', async () => {
  let settledCount = 0
  // Behind the deadline: the resume, its connections, the look, the unlink again.
  for (let afterMs = 38; afterMs < 70; afterMs++) {
    const { isSettled, hasHappened } = await pausedAt(afterMs)
    expect(isSettled && !hasHappened, `paused after ${afterMs} ms`).toBe(false)
    if (isSettled) settledCount++
  }
  expect(settledCount).toBeGreaterThan(0)
  expect(settledCount).toBeLessThan(32)
})
