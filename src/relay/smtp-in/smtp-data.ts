/** The data of one message as it comes in.
 * Invariant: nothing is handed on as complete before the final dot was read; a client that vanishes
 * makes a rejection, or an error in the stream that was handed on. Memory is bounded: up to
 * `inlineBytesMax` is collected in one buffer, what is longer is handed on as a stream that holds
 * the client back, and what is too long is read to its end and thrown away. */
import { Readable } from 'node:stream'
import { WaybillError } from '../../errors.js'

export interface DataLimits {
  /** Collected in memory, bytes. */
  readonly inlineBytesMax: number
  /** Accepted at all, bytes. */
  readonly sizeBytesMax: number
  readonly ahead: ReadAhead
}

/** What streams read from their clients before the queue asks for it: where the queue is slower it
 * has more at once, and each piece costs a wake-up of three threads. Few streams may have four
 * reads of a socket each, many one, so that a thousand clients do not hold four times as much. */
export class ReadAhead {
  #streamCount = 0

  /** One stream more: how many bytes it may read. */
  begin(): number {
    this.#streamCount++
    const share = Math.floor(aheadBytesMax / this.#streamCount)
    return Math.max(socketReadBytes, Math.min(4 * socketReadBytes, share))
  }

  end(): void {
    this.#streamCount--
  }
}

/** libuv reads so much from a socket at once. */
const socketReadBytes = 64 * 1024
const aheadBytesMax = 32 * 1024 * 1024

/** Pieces that are held as they came. Of data whose lines begin with dots smtp-server makes a piece
 * of each line:
 *    1. a client sends 128 KiB of `..` and waits
 *    2. it holds 4 MB, a hundred bytes for each piece
 *    3. so do 500 clients */
const pieceCountMax = 256

/** @param prefix stands before the client's data
 * @returns a buffer with everything, or a stream that fails when the client vanishes or says too
 * much
 * @throws WaybillError SUBMIT_ABORTED, MESSAGE_TOO_LARGE */
export function collected(source: Readable, prefix: Buffer, limits: DataLimits): Promise<Buffer | Readable> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [prefix]
    let dataBytes = 0
    let tooLarge = false
    let body: Readable | undefined

    source.on('data', (chunk: Buffer) => {
      dataBytes += chunk.length
      if (tooLarge) return
      if (dataBytes > limits.sizeBytesMax) {
        tooLarge = true
        chunks = []
        body?.destroy(tooLargeError(limits))
      } else if (body !== undefined) {
        if (!body.destroyed && !body.push(chunk)) source.pause()
      } else {
        chunks.push(chunk)
        if (chunks.length > pieceCountMax) chunks = [Buffer.concat(chunks)]
        if (dataBytes > limits.inlineBytesMax) {
          body = bodyOf(source, limits.ahead)
          for (const part of chunks) body.push(part)
          chunks = []
          resolve(body)
        }
      }
    })
    let isOver = false
    source.on('end', () => {
      isOver = true
      if (body !== undefined) body.push(null)
      else if (tooLarge) reject(tooLargeError(limits))
      else resolve(Buffer.concat(chunks))
    })
    const vanished = (): void => {
      if (isOver) return
      isOver = true
      const error = new WaybillError(
        'SUBMIT_ABORTED',
        'the client vanished before the final dot',
        {},
        source.errored ?? undefined,
      )
      if (body !== undefined) body.destroy(error)
      else reject(error)
    }
    source.on('error', vanished)
    // Smtp-server emits an error; an embedder's stream may just be closed, or be closed already.
    source.on('close', vanished)
    if (source.destroyed || source.readableEnded) vanished()
  })
}

/** Reads on when more is wanted, and to the end when nothing is: the reply comes after
 * the final dot. */
function bodyOf(source: Readable, ahead: ReadAhead): Readable {
  const body = new Readable({
    highWaterMark: ahead.begin(),
    read: () => {
      source.resume()
    },
    destroy: (error, done) => {
      ahead.end()
      source.resume()
      done(error)
    },
  })
  // A reader gets the error, too; until there is one, a client that vanishes must not stop the
  // process.
  return body.on('error', () => {})
}

const tooLargeError = (limits: DataLimits): WaybillError =>
  new WaybillError('MESSAGE_TOO_LARGE', `the message is longer than ${limits.sizeBytesMax} bytes`)

/** What a stream has read ahead, in one piece: since Node 26 `read()` returns one buffer of it. */
export const beginningOf = (data: Readable): Buffer => Buffer.concat(readAhead(data))

export function readAhead(data: Readable): Buffer[] {
  const pieces: Buffer[] = []
  for (let piece = data.read() as Buffer | null; piece !== null; piece = data.read() as Buffer | null)
    pieces.push(piece)
  return pieces
}
