/** The last stream of a message's data before the socket: nodemailer's, or a faster one where the
 * data needs no change.
 * Invariant: nodemailer's own stream dots, mends and ends the data wherever that changes an
 * octet. */
import type { Readable, Transform, TransformCallback } from 'node:stream'
import { thrownText } from '../../base/realms.js'
import { leavesAsItStands } from '../mime/plain-data.js'

/** Nodemailer hands the stream that dots and ends the data to whatever has a `pipe`, once the
 * server has said 354. */
export interface DataSink extends Transform {
  /** The last octet that it has passed on: by it the sink knows how to end. */
  lastByte: number | false
}

/** In the place of a sink where the data needs none. */
export const noSink = {}

/** A sink's transform for data that needs none. */
export function passOn(this: DataSink, data: Buffer, _: string, done: TransformCallback): void {
  this.lastByte = data[data.length - 1]!
  done(null, data)
}

const CR = 0x0d
const LF = 0x0a

/** For data in pieces: those that need nothing go past nodemailer's look at each octet, which is a
 * quarter of what the queue's thread does for a mebibyte. A line end may be cut in two: pieces of
 * lines that are alike often are. */
export function passPieces(sink: DataSink): void {
  const looked = sink._transform.bind(sink)
  sink._transform = (piece: Buffer, encoding, done) => {
    const isCut = sink.lastByte === CR
    const lines = piece.subarray(isCut ? 1 : 0, piece.at(-1) === CR ? -1 : undefined)
    const needsNothing = (!isCut || piece[0] === LF) && leavesAsItStands(lines)
    if (needsNothing) passOn.call(sink, piece, encoding, done)
    else looked(piece, encoding, done)
  }
}

/** What else nodemailer asks of a stream. It writes its own code over that of an error it is shown,
 * so it is shown a copy. */
export const lifeOf = (data: Readable): object => ({
  on: (event: string, listener: (error: Error) => void): void => {
    data.on(event, (cause: Error) => listener(new Error(thrownText(cause), { cause })))
  },
  removeListener: (): void => {},
  destroy: (): void => {
    data.destroy()
  },
})
