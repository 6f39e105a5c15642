import { PassThrough, type Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { collected, StreamRoom } from '../../../src/relay/smtp-in/smtp-data.js'

const limits = { inlineBytesMax: 100_000, sizeBytesMax: 200_000 }

test('small pieces are not held one by one: what they say is copied, in their order', async () => {
  const source = new PassThrough()
  const data = collected(source, Buffer.from('prefix '), limits, new StreamRoom())
  const pieces = Array.from({ length: 1000 }, (_, i) => Buffer.from(`${i} `))
  const text = `prefix ${pieces.map(String).join('')}`
  for (const piece of pieces) source.write(piece)
  await expect.poll(() => source.readableLength).toBe(0)
  for (const piece of pieces.slice(0, 500)) piece.fill('?')
  source.end()
  expect(await data).toEqual(Buffer.from(text))
})

/** A client that sends 2 MB to a queue that does not read yet. @returns the body */
async function unread(ahead: StreamRoom): Promise<Readable> {
  const source = new PassThrough()
  const data = collected(source, Buffer.alloc(0), { ...limits, sizeBytesMax: 3_000_000 }, ahead)
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
  const body = await unread(new StreamRoom())
  expect(body.readableLength).toBeGreaterThan(250_000)
  expect(body.readableLength).toBeLessThan(400_000)
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(piece as Buffer)
  const sent = Array.from({ length: 40 }, (_, i) => Buffer.alloc(50_000, `${i} `))
  expect(Buffer.concat(pieces).equals(Buffer.concat(sent))).toBe(true)
})

test('many streams read less ahead, each, until the others have ended', async () => {
  const ahead = new StreamRoom()
  const taken = Array.from({ length: 1000 }, () => ahead.take())
  const small = await unread(ahead)
  expect(small.readableLength).toBeLessThan(250_000)
  for (const bytes of taken) ahead.giveBack(bytes)
  expect((await unread(ahead)).readableLength).toBeGreaterThan(250_000)
  small.destroy()
  small.on('error', () => undefined)
})

test('what all streams read ahead is bounded', () => {
  const ahead = new StreamRoom()
  const mebibyte = 1024 * 1024
  const sum = (taken: readonly number[]): number => taken.reduce((all, bytes) => all + bytes, 0)
  const first = sum(Array.from({ length: 128 }, () => ahead.take()))
  const others = sum(Array.from({ length: 872 }, () => ahead.take()))
  expect([first, others]).toEqual([32 * mebibyte, 872 * 64 * 1024])
})

/** A client that sends its message octet by octet to a queue that does not read yet. */
async function octetByOctet(octets: Buffer): Promise<Readable> {
  const source = new PassThrough()
  const data = collected(source, Buffer.alloc(0), { ...limits, inlineBytesMax: 1 }, new StreamRoom())
  for (const octet of octets) source.write(Buffer.of(octet))
  source.end()
  return (await data) as Readable
}

test('single octets are not held one by one until a queue reads them, and arrive', async () => {
  const octets = Buffer.from(Array.from({ length: 40_000 }, (_, i) => i % 251))
  const body = await octetByOctet(octets)
  await expect.poll(() => body.readableLength).toBe(octets.length)
  const pieces: Buffer[] = []
  body.on('data', (piece: Buffer) => pieces.push(piece))
  await new Promise((resolve) => body.on('end', resolve))
  expect(Buffer.concat(pieces).equals(octets)).toBe(true)
  expect(pieces.length).toBeLessThan(20)
})

test('a header is collected whole where it is wanted so, and then the stream begins', async () => {
  const source = new PassThrough()
  const header = `To: ${'u@example.net,\r\n '.repeat(20_000)}x\r\n`
  const wanted = { inlineBytesMax: 1000, sizeBytesMax: 3_000_000, holdsHeader: true }
  const data = collected(source, Buffer.from('prefix '), wanted, new StreamRoom())
  for (let at = 0; at < header.length; at += 5000) source.write(header.slice(at, at + 5000))
  source.write('Bcc: x\r\n\r\nbody')
  source.write(Buffer.alloc(1_000_000))
  const body = (await data) as Readable
  const beginning = body.read() as Buffer
  expect(beginning.toString().startsWith(`prefix ${header}Bcc: x\r\n\r\n`)).toBe(true)
  body.destroy()
})

test('a header beyond its bound is refused behind the final dot', async () => {
  const source = new PassThrough()
  const wanted = { inlineBytesMax: 1000, sizeBytesMax: 3_000_000, holdsHeader: true }
  const data = collected(source, Buffer.alloc(0), wanted, new StreamRoom())
  for (let i = 0; i < 25; i++) source.write(`A: ${'b'.repeat(50_000)}\r\n`)
  source.end('\r\nbody')
  await expect(data).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE', message: /the header is longer/ })
})
