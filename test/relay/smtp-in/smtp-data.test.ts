import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { collected } from '../../../src/relay/smtp-in/smtp-data.js'

const limits = { inlineBytesMax: 100_000, sizeBytesMax: 200_000 }

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
