/** A look that comes when another life owns the queue. */
import { expect, test } from 'vitest'
import { SimLives } from './sim-lives.js'

/** The unlink is lost on its way, and its node is paused so long after it was asked. The next owner
 * makes one change. @returns whether the unlink settled, and whether it has happened */
async function pausedAt(afterMs: number): Promise<{ isSettled: boolean; hasHappened: boolean }> {
  const lives = new SimLives()
  const { world } = lives
  const first = lives.life('first')
  await lives.settle(first.disk.claim())
  await lives.settle(first.disk.makeDirectory('spool'))
  await lives.settle(first.disk.open('spool/old', 'create'))
  lives.fate = 'lost'
  let isSettled = false
  const unlinked = first.disk.unlink('spool/old').then(
    () => (isSettled = true),
    () => undefined,
  )
  await world.run({ untilMs: world.nowMs + afterMs })
  first.node.pause()
  const next = lives.life('second')
  await lives.settle(next.claimed())
  await lives.settle(next.disk.open('spool/new', 'create'))
  first.node.resume()
  await lives.settle(unlinked)
  const hasHappened = !(await lives.settle(next.disk.list('spool'))).includes('old')
  return { isSettled, hasHappened }
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

test('what the next owner has removed is missed by a lost owner as QUEUE_LOST, not as ENOENT', async () => {
  const lives = new SimLives()
  const first = lives.life('first')
  await lives.settle(first.disk.claim())
  await lives.settle(first.disk.makeDirectory('journal'))
  const file = await lives.settle(first.disk.open('journal/old', 'create'))
  await lives.settle(file.write(Buffer.from('mail'), 0))
  first.node.pause()
  const next = lives.life('second')
  await lives.settle(next.claimed())
  await lives.settle(next.disk.unlink('journal/old'))
  await lives.world.run({ untilMs: lives.world.nowMs + 500 })
  first.node.resume()
  const late: Promise<unknown>[] = [first.disk.stat('journal/old'), file.read(Buffer.alloc(4), 0)]
  for (const each of late) await expect(lives.settle(each)).rejects.toMatchObject({ code: 'QUEUE_LOST' })
})
