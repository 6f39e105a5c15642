/** Data that is submitted as a stream. */
import type { Readable } from 'node:stream'

/** Is it a Readable, of any implementation? A Writable, such as `process.stdout`, has a `pipe`. */
export const isReadable = (data: unknown): data is Readable =>
  typeof data === 'object' &&
  data !== null &&
  typeof (data as Readable).pipe === 'function' &&
  typeof (data as Readable)[Symbol.asyncIterator] === 'function'

/** Is it a request of an HTTP server? This room does not load `node:http`. */
const isRequest = (stream: Readable): boolean =>
  'httpVersion' in stream && typeof (stream as { method?: unknown }).method === 'string'

/** Streams that are or were the data of a submission, to any queue of the process:
 *    1. a program makes one stream, and submits it for each of three recipients
 *    2. each submission gets the pieces that the others have not read
 *    3. three messages settle, and none is whole */
const usedStreams = new WeakSet<Readable>()

/** Was the stream the data of a submission before? */
export const isUsed = (stream: Readable): boolean => usedStreams.has(stream)

/** Marks a stream as the data of a submission. */
export const markUsed = (stream: Readable): unknown => usedStreams.add(stream)

/** Ends a stream that is not read further: destroys it, but reads a request of an HTTP server to
 * its end, as long as that server allows. To destroy a request would close its connection before
 * the answer: its client would not get the answer, and repeat.
 * @param reading the reader so far: nothing flows before that has ended */
export function discard(stream: Readable, reading?: AsyncGenerator): void {
  if (!isRequest(stream)) {
    stream.destroy()
    return
  }
  // It may fail later, and nobody else listens.
  stream.on('error', () => undefined)
  const readOn = (): unknown => stream.resume()
  if (reading === undefined) readOn()
  else void reading.return(undefined).then(readOn, readOn)
}

/** What a stream gives; text becomes the bytes that it was made of, as far as its encoding has
 * kept them. */
export function piecesOf(stream: Readable): AsyncIterable<unknown> {
  const pieces =
    isRequest(stream) && typeof stream.iterator === 'function'
      ? stream.iterator({ destroyOnReturn: false })
      : stream
  const isBytes = stream.readableEncoding === null && !stream.readableObjectMode
  return isBytes ? pieces : encoded(pieces, stream.readableEncoding ?? 'utf8')
}

/** A surrogate pair may be cut between two pieces. */
async function* encoded(pieces: AsyncIterable<unknown>, encoding: BufferEncoding): AsyncGenerator<unknown> {
  let half = ''
  for await (const piece of pieces)
    if (typeof piece !== 'string') {
      if (half !== '') yield Buffer.from(half, encoding)
      half = ''
      yield piece
    } else {
      const text = half + piece
      half = /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : ''
      yield Buffer.from(half === '' ? text : text.slice(0, -1), encoding)
    }
  if (half !== '') yield Buffer.from(half, encoding)
}

/** The pieces that were read already, and the others. */
export async function* chain(start: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* start
  yield* rest
}
