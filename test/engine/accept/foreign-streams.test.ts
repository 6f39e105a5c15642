/** Streams as programs hand them over: one for several submissions, those of other libraries. */
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { codeOf, simulated, submission } from '../stage.js'

const lines = Array.from({ length: 40_000 }, (_, i) => `line ${i}\r\n`)

test('one stream for several submissions is the data of the first, whole, and of no other', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const data = Readable.from(lines)
    const names = ['one', 'two', 'three']
    const codes = await Promise.all(
      names.map((name) => codeOf(queue.submit({ ...submission(`${name}@example.net`), data }))),
    )
    expect(codes).toEqual(['accepted', 'DATA_INCOMPLETE', 'DATA_INCOMPLETE'])
    await queue.idle()
    expect([...stage.data.values()]).toEqual([lines.join('')])
  })
})

test('one stream for two queues, or for submitMany, is the data of one message', async () => {
  const data = Readable.from(lines)
  await simulated(async (first) => {
    await simulated(async (second) => {
      const queue = await second.open()
      const settled = (await first.open()).submit({ ...submission(), data })
      expect(await codeOf(queue.submit({ ...submission(), data }))).toBe('DATA_INCOMPLETE')
      await settled
      const again = Readable.from(lines)
      const codes: string[] = []
      const both = [1, 2].map(() => ({ ...submission(), data: again }))
      for await (const { error } of queue.submitMany(both)) codes.push(error?.code ?? 'accepted')
      expect(codes).toEqual(['accepted', 'DATA_INCOMPLETE'])
    })
  })
})

test('a stream of another library, which does not say whether it failed, is taken when it is whole', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const data = Readable.from(lines)
    // Those of readable-stream 3, through2 and streamx have neither member.
    for (const name of ['errored', 'readableAborted', 'readableEnded'])
      Object.defineProperty(data, name, { value: undefined })
    await queue.submit({ ...submission(), data })
    await queue.idle()
    expect([...stage.data.values()]).toEqual([lines.join('')])
  })
})
