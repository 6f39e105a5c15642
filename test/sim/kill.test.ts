import { expect, test } from 'vitest'
import { refusal } from '../disk/fixture.js'
import { afterPowerLoss, fates, live, overwrite, sector, writeDurably } from './fixture.js'

const old = sector('o')
const young = sector('y')

test('the death of a process loses nothing that the kernel has, and makes nothing durable', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', old)
    await overwrite(on, 'a', young)
    await on.rename('a', 'b')
  })
  const killed = Array.from(disk.killStates(), (state) => state.image)
  expect(fates(killed, 'b')).toEqual([young.toString()])
  for (const image of killed) {
    const next = await live(async () => undefined, { image })
    expect(fates(afterPowerLoss(next.disk), 'a')).toEqual(['gone', old.toString(), young.toString()].sort())
  }
})

test('a call under way when the process dies may have happened, a write by half', async () => {
  const { disk, world } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.alloc(1024, 'o'))
  })
  const file = await world.settle(disk.open('a', 'write'))
  void file.write(Buffer.alloc(1024, 'y'), 0)
  const killed = Array.from(disk.killStates(), (state) => state.image)
  const o = old.toString()
  const y = young.toString()
  expect(fates(killed, 'a')).toEqual([`${o}${o}`, `${y}${o}`, `${y}${y}`])
})

test('the lock dies with the process', async () => {
  const { disk } = await live(async (on) => {
    await on.lock('lock')
  })
  expect.assertions(1)
  for (const { image } of disk.killStates()) {
    await live(
      async (on) => {
        expect(await refusal(on.lock('lock'))).toBe('none')
      },
      { image },
    )
  }
})

test('after the disk is abandoned, calls under way have happened or never will', async () => {
  const outcomes = new Set<string>()
  for (let seed = 0; seed < 20; seed++) {
    let seen = 0
    const observer = { before: () => seen++ }
    const { disk, world } = await live(async (on) => writeDurably(on, 'a', old), { observer }, seed)
    const file = await world.settle(disk.open('a', 'write'))
    let settled = false
    void file.write(young, 0).then(() => (settled = true))
    disk.abandon()
    const seenAlive = seen
    const content = disk.image.bytes('a').toString().at(0) ?? ''
    await world.run()
    expect(disk.image.bytes('a').toString().at(0)).toBe(content)
    expect(settled).toBe(false)
    expect(seen).toBe(seenAlive)
    outcomes.add(content)
  }
  expect(outcomes).toEqual(new Set(['o', 'y']))
})
