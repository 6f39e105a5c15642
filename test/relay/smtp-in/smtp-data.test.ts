import { PassThrough, type Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { collected, ReadAhead } from '../../../src/relay/smtp-in/smtp-data.js'

const limits = { inlineBytesMax: 100_000, sizeBytesMax: 200_000, ahead: new ReadAhead() }

test('small pieces are not held one by one: what they say is copied, in their order', async () => {
  const source = new PassThrough()
  const data = collected(source, Buffer.from('prefix '), limits)
  const pieces = Array.from({ length: 1000 }, (_, i) => Buffer.from(`${i} `))
  const text = `prefix ${pieces.map(String).join('')}`
  for (const piece of pieces) source.write(piece)
  await expect.poll(() => source.readableLength).toBe(0)
  for (const piece of pieces.slice(0, 500)) piece.fill('?')
  source.end()
  expect(await data).toEqual(Buffer.from(text))
})

/** A client that sends 2 MB to a queue that does not read yet. @returns the body */
async function unread(ahead: ReadAhead): Promise<Readable> {
  const source = new PassThrough()
  const data = collected(source, Buffer.alloc(0), { inlineBytesMax: 100_000, sizeBytesMax: 3_000_000, ahead })
  for (let i = 0; i < 40; i++) source.write(Buffer.alloc(50_000, `${i} `))
  source.end()
  const body = (await data) as Readable
  // It has read what it reads when nothing more comes.
  for (let before = -1; before !== body.readableLength;) {
    before = body.readableLength
    await new Promise((resolve) => setImmediate(resolve))
  }
  return body
}

test('a stream is read ahead of its queue, so far and no farther, and arrives', async () => {
  const body = await unread(new ReadAhead())
  expect(body.readableLength).toBeGreaterThan(250_000)
  expect(body.readableLength).toBeLessThan(400_000)
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(piece as Buffer)
  const sent = Array.from({ length: 40 }, (_, i) => Buffer.alloc(50_000, `${i} `))
  expect(Buffer.concat(pieces).equals(Buffer.concat(sent))).toBe(true)
})

test('many streams read less ahead, each, until the others have ended', async () => {
  const ahead = new ReadAhead()
  for (let i = 0; i < 1000; i++) ahead.begin()
  const small = await unread(ahead)
  expect(small.readableLength).toBeLessThan(250_000)
  for (let i = 0; i < 1000; i++) ahead.end()
  expect((await unread(ahead)).readableLength).toBeGreaterThan(250_000)
  small.destroy()
  small.on('error', () => undefined)
})
