/** What an embedder sees of a queue beside mail. */
import { expect, test } from 'vitest'
import { isWaybillError, WaybillError } from '../src/errors.js'
import type { Queue } from '../src/queue.js'
import { codeOf, simulated, submission } from './engine/stage.js'

test('the limits are those that it was opened with, each its own', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ dataBytesMax: 70_000, recipientCountMax: 7 })
    expect(queue.limits).toEqual({ dataBytesMax: 70_000, recipientCountMax: 7 })
  })
})

test('a queue that is disposed of by `await using` has crashed', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    await queue[Symbol.asyncDispose]()
    expect(queue.isCrashed).toBe(true)
    expect(await codeOf(queue.submit(submission()))).toBe('QUEUE_CRASHED')
  })
})

test.each<[string, (queue: Queue) => unknown]>([
  ['an address in the place of a list', (queue) => queue.routesOf('a@example.org' as never)],
  ['a list of no addresses', (queue) => queue.routesOf([undefined as never])],
  ['a destination without a name', (queue) => queue.resume('out', undefined as never)],
  ['an object in the place of a transport', (queue) => queue.resume({ transport: 'out' } as never, 'x')],
  ['a flag that is a word', (queue) => queue.submit({ ...submission(), smtputf8: 'yes' as never })],
  ['a flag that is a number', (queue) => queue.submit({ ...submission(), longLines: 1 as never })],
])('%s is refused with a code', async (_, call) => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    expect(await codeOf(Promise.resolve().then(() => call(queue)))).toBe('OPTION_INVALID')
  })
})

test('an error that has a code is one of that code to the compiler, too', () => {
  const error: unknown = new WaybillError('DISK_FULL', 'no room')
  const code: 'DISK_FULL' | undefined = isWaybillError(error, 'DISK_FULL') ? error.code : undefined
  expect(code).toBe('DISK_FULL')
  expect([isWaybillError(error), isWaybillError(error, 'DISK_FAILED')]).toEqual([true, false])
})

test('a signal that a program does not have may be given as undefined', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const none = { signal: undefined as AbortSignal | undefined }
    expect(await queue.page({}, none)).toMatchObject({ messages: [] })
    expect(await queue.delete({ all: true }, none)).toMatchObject({ messageCount: 0 })
    expect(await queue.drain(none)).toEqual({ isDrained: true, underWayCount: 0 })
  })
})
