/** Smtp-server's parser with five changes. Handlers may answer at once, dots cost nothing, what
 * came last is counted, clients that end their lines with LF alone can end their data, and lines
 * that end with CR CR LF are lines.
 * Invariant: the data of a message is handed on as fast as it is read, in as many pieces as it
 * came in. */
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import { LineEnds, lineUnstuffing, unstuffed } from './dot-unstuffing.js'

const dot = 0x2e
const cr = 0x0d
const lf = 0x0a

export class Parser extends SMTPStream {
  /** Commands in what the client sent last, up to now; the rest of a message before them
   * counts as one. */
  commandCount = 0
  /** A command had a CR in it. Behind DATA in one piece come data, and a QUIT that `sendmail -bs`
   * has added. */
  #sendsCr = false
  #unstuffed = unstuffed
  readonly #lineEnds = new LineEnds()

  override write(chunk: unknown, encoding?: unknown, done?: unknown): boolean {
    this.commandCount = this._dataMode ? 1 : 0
    return super.write(chunk, encoding as BufferEncoding, done as () => void)
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (!this.#sendsCr && !this._dataMode) this.#sendsCr = commandsIn(this._remainder, chunk).includes('\r')
    super._write(chunk, encoding, done)
  }

  /** Smtp-server hands on a piece, and takes a turn of the event loop, for each dot that it takes
   * away: lines that begin with dots cost two hundred times as much as others, and nobody waits for
   * the reader of the message. Here a piece stays one piece. */
  override _feedDataStream(chunk: Buffer, done: () => void): void {
    const held = this._lastBytes
    let piece = held && held.length > 0 ? Buffer.concat([held, chunk]) : chunk
    this._lastBytes = false
    if (this._atDataStart && !this.#sendsCr) {
      this.#unstuffed = lineUnstuffing()
      this._atDataStart = false
    } else if (this._atDataStart) {
      this.#unstuffed = unstuffed
      if (piece.length < 3) {
        this._lastBytes = piece
        return done()
      }
      if (piece[0] === dot && piece[1] === cr && piece[2] === lf)
        return this._endDataMode(false, piece.subarray(3), done)
      if (piece[0] === dot && piece[1] === dot) piece = piece.subarray(1)
      this._atDataStart = false
    }
    const { content: lines, end, held: next } = this.#unstuffed(piece)
    this._countDataBytes(lines.length)
    const content = this.#lineEnds.of(lines)
    if (end !== undefined) return this._endDataMode(content, piece.subarray(end), done)
    this._lastBytes = next
    this.#handOn(content, done)
  }

  /** Waits for the reader of the message. */
  #handOn(content: Buffer, done: () => void): void {
    const data = this._dataStream
    if (content.length === 0 || data?.writable !== true || data.write(content) || data.destroyed)
      return done()
    const goOn = (): void => {
      data.off('drain', goOn).off('close', goOn)
      done()
    }
    data.on('drain', goOn).on('close', goOn)
  }

  /** Smtp-server forgets the callback after it has run. 1. the reply to a message lets it read on
   * 2. a client that waits for nothing has sent the whole next message
   * 3. its end is read within the callback, and its own callback is the one forgotten. */
  override continue(): void {
    const readOn = this._continueCallback
    this._continueCallback = typeof readOn !== 'function'
    if (typeof readOn === 'function') readOn()
  }
}

/** @returns them up to the line DATA: what is behind that may be data */
const commandsIn = (begun: string, chunk: Buffer): string => {
  const text = begun + chunk.toString('latin1')
  const dataLine = /^[ \t]*data[ \t]*\r?\n/im.exec(text)
  return dataLine === null ? text : text.slice(0, dataLine.index + dataLine[0].length)
}
