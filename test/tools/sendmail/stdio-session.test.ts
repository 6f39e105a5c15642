/** The end of the input of `sendmail -bs`, before servers that hear it and others. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { sessionOver } from '../../../tools/commands/sendmail/stdio-session.js'
import { listen, memoryQueue } from '../../relay/smtp-in/smtp-in-fixture.js'

const untilData = 'EHLO me\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<b@example.net>\r\nDATA\r\n'

/** @returns what the server has said, and what it took, milliseconds */
async function session(
  port: number,
  input: string,
  hearsEnd: boolean,
): Promise<{ said: string; tookMs: number; isWhole: boolean }> {
  const output = new PassThrough()
  const socket: Socket = connect(port, '127.0.0.1')
  const beganMs = performance.now()
  const isWhole = await sessionOver(socket, Readable.from([input]), output, hearsEnd)
  const tookMs = performance.now() - beganMs
  output.end()
  return { said: await text(output), tookMs, isWhole }
}

test('a message that was not ended is none, and nothing is waited for', async () => {
  const queue = memoryQueue()
  const { port } = await listen(queue)
  const { said, tookMs, isWhole } = await session(port, `${untilData}half of it`, true)
  expect(isWhole).toBe(false)
  expect(tookMs).toBeLessThan(5000)
  expect(said).toMatch(/\r\n354 [^\r]*\r\n$/)
  expect(queue.kept).toEqual([])
})

test('a message that was ended is answered, however late', async () => {
  const queue = memoryQueue(() => new Promise((resolve) => setTimeout(resolve, 300)))
  const { port } = await listen(queue)
  const { said, isWhole } = await session(port, `${untilData}x\r\n.\r\n`, true)
  expect(isWhole).toBe(true)
  expect(said).toMatch(/\r\n250 2\.0\.0 queued as q1\r\n221 /)
})

test('a program that ends its lines in LF alone is answered', async () => {
  const queue = memoryQueue()
  const { port } = await listen(queue)
  const { said } = await session(port, `${untilData}x\r\n.\r\n`.replaceAll('\r', ''), true)
  expect(said).toMatch(/\r\n250 2\.0\.0 queued as q1\r\n221 /)
  expect(queue.kept.map(({ data }) => data.toString())).toEqual(['x\r\n'])
})

test('a server that takes the end of our side for that of its own is waited for', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write('220 x\r\n')
    socket.once('data', () => setTimeout(() => socket.end('250 late\r\n'), 300))
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  expect((await session(port, `${untilData}x\r\n.\r\n`, false)).said).toContain('250 late')
})
