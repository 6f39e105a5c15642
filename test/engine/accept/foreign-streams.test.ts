/** Streams as programs hand them over: one for several submissions, those of other libraries. */
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { codeOf, empty, fill, simulated, submission } from '../stage.js'

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

test('a submission that is not needed leaves the stream of another alone', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const known = { ...submission(), idempotencyKey: 'k' }
    await queue.submit(known)
    const data = Readable.from(lines)
    const settled = queue.submit({ ...submission(), data })
    expect(await queue.submit({ ...known, data })).toMatchObject({ isDuplicate: true })
    await settled
    await queue.idle()
    expect([...stage.data.values()]).toContain(lines.join(''))
  })
})

/** As an HTTP server's. */
const requestOf = (pieces: Iterable<string>): Readable =>
  Object.assign(Readable.from(pieces, { objectMode: false }), { httpVersion: '1.1', method: 'POST' })

test('a request that is refused is drained, and may fail later', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ dataBytesMax: 100_000 })
    const data = requestOf(lines)
    expect(await codeOf(queue.submit({ ...submission(), data }))).toBe('MESSAGE_TOO_LARGE')
    await stage.until('it is drained', () => data.readableEnded)
    const failing = requestOf(lines)
    expect(await codeOf(queue.submit({ ...submission(), data: failing }))).toBe('MESSAGE_TOO_LARGE')
    failing.destroy(new Error('the client vanished'))
    await stage.until('it is gone', () => failing.closed)
    expect(data.listenerCount('readable')).toBe(0)
  })
})

test('a request that is refused for want of room is drained', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    fill(stage)
    const data = requestOf(lines.concat(lines, lines))
    expect(await codeOf(queue.submit({ ...submission(), data }))).toBe('DISK_FULL')
    await stage.until('it is drained', () => data.readableEnded)
    empty(stage)
    expect(data.listenerCount('readable')).toBe(0)
  })
})
