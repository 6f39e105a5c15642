/** The data of one message as it comes in.
 * Invariant: nothing is handed on as complete before the final dot was read; a client that vanishes
 * makes a rejection, or an error in the stream that was handed on. Memory is bounded: data
 * up to `inlineBytesMax`, or the whole header, is collected in one buffer. Longer data is handed on
 * as a stream that holds the client back. Data that is too long is read to its end and dropped. */
import { Readable } from 'node:stream'
import { WaybillError } from '../../errors.js'
import { HeaderWait } from './completed-header.js'

export interface DataLimits {
  /** Collected in memory, bytes. */
  readonly inlineBytesMax: number
  /** Accepted at all, bytes. */
  readonly sizeBytesMax: number
  /** Is the whole header collected, however long? */
  readonly holdsHeader?: boolean
}

/** What streams read from their clients before the queue asks for it: where the queue is slower it
 * has more at once, and each piece costs a wake-up of three threads. The first streams may have
 * four reads of a socket each; where they have used up what is shared, each further one has one. */
export class StreamRoom {
  #givenBytes = 0

  /** @returns how many bytes one stream more may read, to be given back when it ends */
  take(): number {
    const left = sharedBytesMax - this.#givenBytes
    const bytes = Math.max(socketReadBytes, Math.min(4 * socketReadBytes, left))
    this.#givenBytes += bytes
    return bytes
  }

  giveBack(bytes: number): void {
    this.#givenBytes -= bytes
  }
}

/** libuv reads so much from a socket at once. */
const socketReadBytes = 64 * 1024
const sharedBytesMax = 32 * 1024 * 1024

/** What a client has sent, not joined as long as it came in few pieces. Of data whose lines begin
 * with dots smtp-server makes a piece of each line:
 *    1. a client sends 128 KiB of `..` and waits
 *    2. it holds 4 MB, a hundred bytes for each piece
 *    3. so do 500 clients */
class Pieces {
  #pieces: Buffer[] = []
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    if (this.#pieces.length > pieceCountMax) this.#pieces = [Buffer.concat(this.#pieces)]
  }

  /** All of them, as one. They stay. */
  joined(): Buffer {
    const joined = joinedPieces(this.#pieces)
    this.#pieces = [joined]
    return joined
  }

  /** The same, and none stays. */
  take(): Buffer {
    const joined = this.joined()
    this.#pieces = []
    this.#bytes = 0
    return joined
  }
}

const pieceCountMax = 256
/** A stream that is not read holds smaller pieces back until they are so many bytes. */
const pieceBytesMin = 4 * 1024

const joinedPieces = (pieces: readonly Buffer[]): Buffer =>
  pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)

/** @param prefix stands before the client's data
 * @returns a buffer with everything, or a stream that fails when the client vanishes or says too
 * much
 * @throws WaybillError SUBMIT_ABORTED, MESSAGE_TOO_LARGE */
export function collected(
  source: Readable,
  prefix: Buffer,
  limits: DataLimits,
  ahead: StreamRoom,
): Promise<Buffer | Readable> {
  return new Promise((resolve, reject) => {
    const pieces = new Pieces()
    pieces.add(prefix)
    let dataBytes = 0
    let refusal: Error | undefined
    const header = limits.holdsHeader === true ? new HeaderWait(limits.inlineBytesMax) : undefined
    /** @throws WaybillError MESSAGE_TOO_LARGE */
    const isEnough = (): boolean =>
      header === undefined
        ? dataBytes > limits.inlineBytesMax
        : header.isOver(dataBytes, () => pieces.joined().subarray(prefix.length))
    const refuse = (error: Error): void => {
      refusal = error
      pieces.take()
      body?.destroy(error)
    }
    let body: Readable | undefined

    source.on('data', (chunk: Buffer) => {
      dataBytes += chunk.length
      if (refusal !== undefined) return
      if (dataBytes > limits.sizeBytesMax) refuse(tooLargeError(limits))
      else if (body !== undefined) {
        if (!body.destroyed && !handOn(body, pieces, chunk)) source.pause()
      } else {
        pieces.add(chunk)
        try {
          if (!isEnough()) return
        } catch (error) {
          return refuse(error as WaybillError)
        }
        body = bodyOf(source, ahead)
        body.push(pieces.take())
        resolve(body)
      }
    })
    let isOver = false
    source.on('end', () => {
      isOver = true
      if (refusal !== undefined) reject(refusal)
      else if (body === undefined) resolve(pieces.take())
      else if (!body.destroyed) {
        if (pieces.bytes > 0) body.push(pieces.take())
        body.push(null)
      }
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

/** Small pieces wait for others while the body has something to read. @returns may more come? */
function handOn(body: Readable, waiting: Pieces, piece: Buffer): boolean {
  if (piece.length >= pieceBytesMin) {
    if (waiting.bytes > 0) body.push(waiting.take())
    return body.push(piece)
  }
  waiting.add(piece)
  if (body.readableLength > 0 && waiting.bytes < pieceBytesMin) return true
  return body.push(waiting.take())
}

/** Reads on when more is wanted, and to the end when nothing is: the reply comes after
 * the final dot. */
function bodyOf(source: Readable, ahead: StreamRoom): Readable {
  const aheadBytes = ahead.take()
  const body = new Readable({
    highWaterMark: aheadBytes,
    read: () => {
      source.resume()
    },
    destroy: (error, done) => {
      ahead.giveBack(aheadBytes)
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

/** What a stream holds, without waiting for more. */
export const heldBy = (data: Readable): Buffer => joinedPieces(piecesHeldBy(data))

/** The same, one by one: since Node 26 `read()` returns one of them, before that all. */
export function piecesHeldBy(data: Readable): Buffer[] {
  const pieces: Buffer[] = []
  for (let piece = data.read() as Buffer | null; piece !== null; piece = data.read() as Buffer | null)
    pieces.push(piece)
  return pieces
}
