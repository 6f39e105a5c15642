/** Data that is submitted as a stream. */
import type { Readable } from 'node:stream'

export const isReadable = (data: unknown): data is Readable =>
  typeof data === 'object' && data !== null && typeof (data as Readable).pipe === 'function'

/** The pieces that were read already, and the others. */
export async function* chain(start: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* start
  yield* rest
}
