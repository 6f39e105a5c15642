/** What an embedder sees of a queue beside mail. */
import { expect, test } from 'vitest'
import { codeOf, simulated, submission } from './engine/stage.js'

test('the limits are those that it was opened with, each its own', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ dataBytesMax: 70_000, recipientCountMax: 7 })
    expect(queue.limits).toEqual({ dataBytesMax: 70_000, recipientCountMax: 7 })
  })
})

test('a queue that is let go by `await using` has crashed', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    await queue[Symbol.asyncDispose]()
    expect(queue.isCrashed).toBe(true)
    expect(await codeOf(queue.submit(submission()))).toBe('QUEUE_CRASHED')
  })
})
