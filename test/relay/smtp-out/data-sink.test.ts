/** Data in pieces leave as nodemailer's own stream makes them, however they are cut. */
import fc from 'fast-check'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { passPieces, type DataSink } from '../../../src/relay/smtp-out/data-sink.js'

interface Hidden {
  _createSendStream(this: object, done: () => void): DataSink
}

/** Nodemailer's, into a socket that keeps what it is given. */
function sinkInto(written: Buffer[]): DataSink {
  const socket = new Writable({ write: (data: Buffer, _, done) => (written.push(data), done()) })
  const connection = Object.assign(new SMTPConnection({}), { _socket: socket })
  return (connection as unknown as Hidden)._createSendStream(() => undefined)
}

async function sent(pieces: readonly Buffer[], prepare: (sink: DataSink) => void): Promise<string> {
  const written: Buffer[] = []
  const sink = sinkInto(written)
  prepare(sink)
  const ended = new Promise((resolve) => sink.once('end', resolve))
  for (const piece of pieces) sink.write(piece)
  sink.end()
  await ended
  return Buffer.concat(written).toString('latin1')
}

test('whatever the data are and however they are cut, they leave as nodemailer sends them', async () => {
  const word = fc.constantFrom('.', '\r', '\n', '\r\n', '\r\n.', 'a', 'line\r\n', '\r\n.\r\n')
  const piece = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => Buffer.from(words.join('')))
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
      const usual = await sent(pieces, () => undefined)
      expect(await sent(pieces, passPieces)).toBe(usual)
      expect(usual.endsWith('\r\n.\r\n') || usual === '.\r\n').toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test('a piece that needs nothing is not copied', async () => {
  const written: Buffer[] = []
  const sink = sinkInto(written)
  passPieces(sink)
  const piece = Buffer.from('Subject: hello\r\n\r\nline\r\n')
  const ended = new Promise((resolve) => sink.once('end', resolve))
  sink.end(piece)
  await ended
  expect(written[0]!.buffer).toBe(piece.buffer)
})
