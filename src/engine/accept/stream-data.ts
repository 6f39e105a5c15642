/** Data that is submitted as a stream. */
import type { Readable } from 'node:stream'

export const isReadable = (data: unknown): data is Readable =>
  typeof data === 'object' && data !== null && typeof (data as Readable).pipe === 'function'

/** That of an HTTP server, of any version; this room does not load `node:http`. */
const isRequest = (stream: Readable): boolean =>
  'httpVersion' in stream && typeof (stream as { method?: unknown }).method === 'string'

/** Nobody reads on. To destroy a request would close its connection before the answer: the client
 * would not hear it, and repeat. The rest of its data is drained, as long as its server lets it. */
export function discard(stream: Readable): void {
  if (isRequest(stream)) stream.resume()
  else stream.destroy()
}

/** What a stream gives; text becomes the bytes that it was made of. */
export function piecesOf(stream: Readable): AsyncIterable<unknown> {
  const pieces = isRequest(stream) ? stream.iterator({ destroyOnReturn: false }) : stream
  const isBytes = stream.readableEncoding === null && !stream.readableObjectMode
  return isBytes ? pieces : encoded(pieces, stream.readableEncoding ?? 'utf8')
}

/** A surrogate pair may be cut between two pieces. */
async function* encoded(pieces: AsyncIterable<unknown>, encoding: BufferEncoding): AsyncGenerator<unknown> {
  let half = ''
  for await (const piece of pieces)
    if (typeof piece !== 'string') yield piece
    else {
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
