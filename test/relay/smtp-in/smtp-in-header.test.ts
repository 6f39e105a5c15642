/** The header of a client that may relay is completed, however long it is and however it comes. */
import { expect, test } from 'vitest'
import { connected, listen, memoryQueue } from './smtp-in-fixture.js'

const count = (text: string, name: RegExp): number => text.match(name)?.length ?? 0

test.each([
  ['in one piece', Infinity],
  ['in pieces', 16_384],
])('Bcc of a header of 300 KiB, sent %s, is removed, and nothing is added twice', async (_, pieceBytes) => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue, { completesHeader: true }))
  await client.reply()
  for (const line of ['EHLO x', 'MAIL FROM:<a@b.example>', 'RCPT TO:<x@y.example>', 'DATA'])
    await client.say(line)
  const to = `To: ${'user@example.net,\r\n '.repeat(15_000)}x@y.example\r\n`
  const others = 'Bcc: secret@example.net\r\nDate: x\r\nMessage-ID: <y@z>\r\nFrom: a@b.example\r\n'
  const sent = `${to}${others}\r\n${'body\r\n'.repeat(100_000)}.\r\n`
  for (let at = 0; at < sent.length; at += pieceBytes) {
    client.send(sent.slice(at, at + pieceBytes))
    // So that each comes as a piece.
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await client.reply()).toContain('250 2.0.0')
  const data = queue.kept[0]!.data.toString()
  expect(data).toBe(sent.slice(0, -3).replace('Bcc: secret@example.net\r\n', ''))
  expect(count(data, /^Date:/gm)).toBe(1)
})
