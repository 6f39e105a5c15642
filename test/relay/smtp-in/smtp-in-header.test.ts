/** The header of a client that may relay is completed, however long it is and however it comes. */
import { expect, test } from 'vitest'
import { withoutBlindCopies } from '../../../src/relay/smtp-in/completed-header.js'
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

/** Its tag z copies fields, and one of them looks like the tag h. */
const signedOver = (names: string): string =>
  `DKIM-Signature: v=1; a=rsa-sha256; d=b.example; s=s; z=From:a@b|H:h=40x;\r\n h=From:To\r\n :${names}; bh=x=; b=y\r\n`

test.each([
  ['unsigned', '', ''],
  ['signed without it', signedOver('Subject'), ''],
  ['signed with it', signedOver('BCC'), 'bcc: secret@example.net,\r\n\tother@example.net\r\n'],
])(
  'Bcc of a stranger’s header, %s, stays only where the signature covers it',
  async (_, signature, stays) => {
    const queue = memoryQueue()
    const client = await connected(await listen(queue, { completesHeader: true, trust: [] }))
    await client.reply()
    const others = `${signature}Return-Path: <x@b.example>\r\nTo: x@y.example\r\n`
    for (const line of ['EHLO x', 'MAIL FROM:<a@b.example>', 'RCPT TO:<x@y.example>', 'DATA'])
      await client.say(line)
    const bcc = 'bcc: secret@example.net,\r\n\tother@example.net\r\n'
    await client.say(`${others}${bcc}Resent-Bcc : third@example.net\r\n\r\nBcc: text\r\n.`)
    expect(queue.kept[0]!.data.toString()).toBe(`${others}${stays}\r\nBcc: text\r\n`)
  },
)

test('Bcc of a stranger’s large message is removed, and one at the end of its first piece stays whole', () => {
  const beginning = Buffer.from('Bcc: a@b.example\r\nTo: x\r\nBcc: c@d.example,\r\n')
  expect(withoutBlindCopies(beginning, false).toString()).toBe('To: x\r\nBcc: c@d.example,\r\n')
  expect(withoutBlindCopies(beginning, true).toString()).toBe('To: x\r\n')
})
