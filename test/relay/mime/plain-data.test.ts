/** Data that leaves as it stands, against what RFC 5321 makes of it. */
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { leavesAsItStands, wroteAtOnce } from '../../../src/relay/mime/plain-data.js'
import { deliver } from '../request.js'
import { between } from '../smtp-out/smtp-out-fixture.js'

const anyData = fc
  .array(
    fc.constantFrom('\r', '\n', '\r\n', '.', 'a', 'text', '\0', '\x0e', '\x8d', '\xff', '\r\n.', '\n.'),
    {
      maxLength: 16,
    },
  )
  .map((parts) => parts.join(''))

/** Its lines as a server has them. */
function linesOf(data: string): string {
  const mended = data.replace(/\r\n|\r|\n/g, '\r\n')
  return mended.endsWith('\r\n') ? mended : `${mended}\r\n`
}

/** Wherever it begins in memory, and whatever stands beside it there. */
test('data leaves as it stands when nothing is to be mended and nothing to be dotted', () => {
  fc.assert(
    fc.property(anyData, fc.nat(8), fc.constantFrom('.', '\r', '\n'), (data, at, beside) => {
      const isMended = linesOf(data) === data || linesOf(data) === `${data}\r\n`
      const memory = Buffer.alloc(at + data.length + 8, beside)
      memory.write(data, at, 'latin1')
      expect(leavesAsItStands(memory.subarray(at, at + data.length))).toBe(isMended && !/^\./m.test(data))
    }),
    { numRuns: 2000 },
  )
})

/** A socket's place: what is written waits until it is released. */
function slowSink(roomBytes: number): { readonly socket: Socket; readonly letGo: () => string } {
  let taken = ''
  const held: (() => void)[] = []
  const sink = new Writable({
    highWaterMark: roomBytes,
    write: (piece: Buffer, _encoding, done) => {
      taken += piece.toString('latin1')
      held.push(done)
    },
  })
  const letGo = (): string => {
    for (let done = held.shift(); done !== undefined; done = held.shift()) done()
    return taken
  }
  return { socket: sink as unknown as Socket, letGo }
}

test('data is written with its end where there is room for all of it and nothing to be mended, else nothing is', () => {
  fc.assert(
    fc.property(anyData, fc.nat(24), fc.boolean(), (data, waitingBytes, isEnded) => {
      const { socket, letGo } = slowSink(24)
      const waiting = 'w'.repeat(waitingBytes)
      socket.write(waiting)
      if (isEnded) socket.end()
      const bytes = Buffer.from(data, 'latin1')
      const goes = !isEnded && waitingBytes + bytes.length < 24 && leavesAsItStands(bytes)
      expect(wroteAtOnce(socket, bytes)).toBe(goes)
      expect(letGo()).toBe(goes ? `${waiting}${linesOf(data)}.\r\n` : waiting)
    }),
    { numRuns: 2000 },
  )
})

test('whatever the data is, the server has its lines', async () => {
  const { server, transport } = await between()
  await fc.assert(
    fc.asyncProperty(anyData, async (data) => {
      expect(await deliver(transport, {}, Buffer.from(data, 'latin1'))).toMatchObject({ kind: 'delivered' })
      expect(server.taken.at(-1)?.data.toString('latin1')).toBe(linesOf(data))
    }),
    { numRuns: 300 },
  )
})
