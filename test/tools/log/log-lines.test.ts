/** The lines of the relay's log on a standard error that takes little, nothing, or has gone. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  lineWaitMs,
  LogLines,
  waitingLengthMax,
  type LogSink,
} from '../../../tools/commands/log/log-lines.js'

/** A standard error whose disk fills and empties. */
class Sink implements LogSink {
  #bytes: Buffer = Buffer.alloc(0)
  failsWith: string | undefined
  bytesMax = Infinity
  refusedCount = 0

  get written(): string {
    return this.#bytes.toString()
  }

  write(bytes: Buffer, answer: (error: NodeJS.ErrnoException | null, writtenBytes: number) => void): void {
    setImmediate(() => {
      if (this.failsWith === undefined) answer(null, this.writeNow(bytes))
      else {
        answer(Object.assign(new Error('refused'), { code: this.failsWith }), 0)
        this.refusedCount++
      }
    })
  }

  writeNow(bytes: Buffer): number {
    if (this.failsWith !== undefined) throw new Error('refused')
    const piece = bytes.subarray(0, this.bytesMax)
    this.#bytes = Buffer.concat([this.#bytes, piece])
    return piece.length
  }
}

/** For what must not happen; what must happen is waited for. */
const aWhile = (): Promise<void> => sleep(lineWaitMs * 2.5)

test('lines come out in order and whole, also when less is taken than was given', async () => {
  const sink = new Sink()
  sink.bytesMax = 700
  const lines = new LogLines(sink)
  const told = Array.from({ length: 500 }, (_, number) => `line ${number} ä\n`)
  for (const line of told) lines.write(line)
  await aWhile()
  lines.write('last\n')
  await expect.poll(() => sink.written).toBe(`${told.join('')}last\n`)
})

test('what cannot be written while the disk is full comes out when there is room', async () => {
  const sink = new Sink()
  const lines = new LogLines(sink)
  sink.failsWith = 'ENOSPC'
  lines.write('one\n')
  await aWhile()
  lines.write('two\n')
  sink.failsWith = undefined
  await expect.poll(() => sink.written).toBe('one\ntwo\n')
})

test('lines that do not fit into memory are lost and counted, the others are not', async () => {
  const sink = new Sink()
  const lines = new LogLines(sink)
  sink.failsWith = 'ENOSPC'
  const line = `${'x'.repeat(1023)}\n`
  const count = waitingLengthMax / line.length
  for (let i = 0; i < count; i++) lines.write(line)
  lines.write('lost\n')
  lines.write('lost\n')
  sink.failsWith = undefined
  await expect.poll(() => sink.written).toContain('lines of the log were lost')
  expect(sink.written.startsWith(line.repeat(count))).toBe(true)
  const rest = sink.written.slice(count * line.length)
  expect(JSON.parse(rest)).toMatchObject({ level: 40, lines: 2, msg: 'lines of the log were lost' })
})

test('the end of the process does not wait for a log that cannot be written', () => {
  const sink = new Sink()
  const lines = new LogLines(sink)
  sink.failsWith = 'ENOSPC'
  lines.write('one\n')
  lines.flushNow()
  expect(sink.written).toBe('')
})

test('what waits is written at the end of the process, once', async () => {
  const sink = new Sink()
  const lines = new LogLines(sink)
  lines.write('one\n')
  lines.flushNow()
  await aWhile()
  expect(sink.written).toBe('one\n')
})

test('a reader that has gone is not written to again', async () => {
  const sink = new Sink()
  const lines = new LogLines(sink)
  sink.failsWith = 'EPIPE'
  lines.write('one\n')
  await expect.poll(() => sink.refusedCount).toBe(1)
  sink.failsWith = undefined
  lines.write('two\n')
  await aWhile()
  expect(sink.written).toBe('')
})
