/** Writes the relay's log to standard error, several lines at a time, without waiting.
 * Invariant: the relay works on and can be stopped, even if standard error fails. Unwritten lines
 * wait in bounded memory; further ones are lost, and counted when the log can be written again.
 * Why not pino's own destination:
 *    1. the log's disk is full
 *    2. a line cannot be written, and the process ends
 *    3. it writes once more on its way out, again and again: it hangs with the queue's lock,
 *       accepts nothing, and does not hear SIGTERM */
import { escapedJson } from '../text/shown-text.js'
import fs from 'node:fs'

/** The target of lines: a descriptor, or a test. Both may write less than requested. */
export interface LogSink {
  write(bytes: Buffer, answer: (error: NodeJS.ErrnoException | null, writtenBytes: number) => void): void
  /** @throws the system's error */
  writeNow(bytes: Buffer): number
}

export const descriptorSink = (descriptor: number): LogSink => ({
  write: (bytes, answer) => fs.write(descriptor, bytes, answer),
  writeNow: (bytes) => fs.writeSync(descriptor, bytes),
})

/** A write for each line would cost a tenth of its message. */
const pieceLengthMin = 4096
/** Longest time that a line waits for others, and for another try. */
export const lineWaitMs: number = 100
/** Bound of waiting characters. */
export const waitingLengthMax: number = 1 << 20

export class LogLines {
  readonly #sink: LogSink
  readonly #shown: (json: string) => string
  #waiting = ''
  /** The piece that is being written, or comes next. */
  #piece: Buffer = Buffer.alloc(0)
  #isWriting = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #lostCount = 0

  /** @param shown formats a line of JSON, without its end */
  constructor(sink: LogSink, shown: (json: string) => string = escapedJson) {
    this.#sink = sink
    this.#shown = shown
  }

  /** @param line with its end */
  write(line: string): void {
    if (this.#isClosed) return
    if (this.#piece.length + this.#waiting.length + line.length > waitingLengthMax) {
      this.#lostCount++
      return
    }
    // JSON escapes the controls of ASCII; a terminal obeys others, too, which may come from
    // strangers.
    this.#waiting += `${this.#shown(line.slice(0, -1))}\n`
    if (this.#waiting.length >= pieceLengthMin && this.#piece.length === 0) this.#writePiece()
    else this.#writeLater()
  }

  /** For the end of the process: one try for all waiting lines. */
  flushNow(): void {
    if (this.#isClosed) return
    let bytes = Buffer.from(this.#waiting)
    if (!this.#isWriting) bytes = Buffer.concat([this.#piece, bytes])
    try {
      while (bytes.length > 0) bytes = bytes.subarray(this.#sink.writeNow(bytes))
    } catch {
      // Mail does not wait for the log.
    }
    this.#isClosed = true
  }

  #writeLater(): void {
    if (this.#isWriting || this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#writePiece()
    }, lineWaitMs)
    this.#timer.unref()
  }

  #writePiece(): void {
    if (this.#isWriting || this.#isClosed) return
    if (this.#piece.length === 0) {
      this.#piece = Buffer.from(this.#waiting)
      this.#waiting = ''
    }
    if (this.#piece.length === 0) return
    this.#isWriting = true
    this.#sink.write(this.#piece, (error, writtenBytes) => {
      this.#isWriting = false
      // The reader has left.
      if (error?.code === 'EPIPE') this.#isClosed = true
      else if (error !== null) this.#writeLater()
      else this.#written(writtenBytes)
    })
  }

  #written(bytes: number): void {
    this.#piece = this.#piece.subarray(bytes)
    if (this.#piece.length === 0 && this.#lostCount > 0) {
      const lost = { level: 40, time: Date.now(), lines: this.#lostCount, msg: 'lines of the log were lost' }
      this.#lostCount = 0
      this.#waiting += `${this.#shown(JSON.stringify(lost))}\n`
    }
    if (this.#piece.length > 0 || this.#waiting.length >= pieceLengthMin) this.#writePiece()
    else if (this.#waiting !== '') this.#writeLater()
  }
}
