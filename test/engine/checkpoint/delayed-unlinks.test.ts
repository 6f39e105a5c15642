import { expect, test } from 'vitest'
import { position } from '../../../src/base/position.js'
import { DelayedUnlinks } from '../../../src/engine/checkpoint/delayed-unlinks.js'

function unlinksAt(end: number) {
  const journal = { durableEnd: position(end) }
  const state = { isFull: false }
  const delayedUnlinks = new DelayedUnlinks(journal, () => state.isFull)
  const gone: string[] = []
  const wait = (name: string): void => void delayedUnlinks.oneMore().then(() => gone.push(name))
  const durable = async (to: number): Promise<string[]> => {
    journal.durableEnd = position(to)
    delayedUnlinks.look()
    await Promise.resolve()
    return [...gone]
  }
  return { delayedUnlinks, state, wait, durable }
}

test('each waits for the batch behind the one that was the last when it came', async () => {
  const { wait, durable } = unlinksAt(100)
  wait('one')
  wait('two')
  expect(await durable(100)).toEqual([])
  expect(await durable(200)).toEqual(['one', 'two'])
  wait('three')
  expect(await durable(200)).toEqual(['one', 'two'])
  expect(await durable(300)).toEqual(['one', 'two', 'three'])
})

test('where the disk is full nobody waits, who came before or comes now', async () => {
  const { wait, durable, state } = unlinksAt(100)
  wait('before')
  expect(await durable(100)).toEqual([])
  state.isFull = true
  wait('meanwhile')
  expect(await durable(100)).toEqual(['before', 'meanwhile'])
  state.isFull = false
  wait('behind')
  expect(await durable(100)).toEqual(['before', 'meanwhile'])
})

test('a hundred thousand that ended in one batch go without holding up anybody', () => {
  const { delayedUnlinks, state } = unlinksAt(100)
  for (let i = 0; i < 100_000; i++) void delayedUnlinks.oneMore()
  state.isFull = true
  const startedAt = performance.now()
  delayedUnlinks.look()
  expect(performance.now() - startedAt).toBeLessThan(2000)
})
