/** The forms in which data is handed to a queue, and the bytes that a transport gets.
 * Invariant: every form has the bytes of the step; a stream that is cut has given some of them. */
import { Readable } from 'node:stream'
import type { Clock } from '../../base/clock.js'
import type { Submission } from '../../engine/accept/submission.js'
import { dataOf, type Step } from './workload.js'

/** Bytes of a stream's piece: several stand for the smallest message. */
const pieceBytes = 128

/** The bytes for a transport. */
export const contentOf = (step: Step): Buffer =>
  step.form === 'reference' ? Buffer.from(refOf(step)) : dataOf(step)

/** @param clock between the pieces of a paced stream, others have their turn */
export function handedOver(step: Step, clock: Pick<Clock, 'soon'>): Submission['data'] {
  const data = dataOf(step)
  const { form = 'bytes' } = step
  switch (form) {
    case 'bytes':
      return data
    case 'text':
      return data.toString('latin1')
    case 'reference':
      return { ref: refOf(step) }
    case 'stream':
      return Readable.from(pieces(data, undefined), { objectMode: false })
    case 'paced':
      return Readable.from(paced(pieces(data, undefined), clock), { objectMode: false })
    case 'cut':
      return Readable.from(pieces(data, new Error('the client is gone')), { objectMode: false })
  }
}

const refOf = ({ sender }: Step): string => `elsewhere:${sender}`

async function* pieces(data: Buffer, cut: Error | undefined): AsyncGenerator<Buffer> {
  for (let at = 0; at < data.length; at += pieceBytes) yield data.subarray(at, at + pieceBytes)
  if (cut !== undefined) throw cut
}

async function* paced(all: AsyncIterable<Buffer>, clock: Pick<Clock, 'soon'>): AsyncGenerator<Buffer> {
  for await (const piece of all) {
    await new Promise<void>((resolve) => clock.soon(resolve))
    yield piece
  }
}
