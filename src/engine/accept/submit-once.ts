/** A submission with an idempotency key makes a message only where no other with its key did. */
import type { Readable } from 'node:stream'
import type { KnownKeys } from '../keys/known-keys.js'
import { onAbort } from '../../base/on-abort.js'
import { discard, isReadable, isUsed } from './stream-data.js'
import { aborted, type Submission } from './submission.js'
import type { Accepted } from './tickets.js'

/** @param submit makes a message of it; called when the key is known to be new
 * @throws WaybillError as KnownKeys.once, by rejection */
export async function submitOnce(
  keys: KnownKeys,
  submission: Submission,
  key: string,
  submit: (own: Submission) => Promise<Accepted>,
): Promise<Accepted> {
  const { data } = submission
  // While the key is looked up the caller has its buffer for itself again, and a stream may fail.
  const own = Buffer.isBuffer(data) ? { ...submission, data: Buffer.from(data) } : submission
  const stream = isReadable(data) ? data.on('error', toldByReading) : undefined
  try {
    const accepted = await orAborted(submission.signal, (begun) =>
      keys.once(key, () => {
        begun()
        return submit(own)
      }),
    )
    if (accepted.isDuplicate) unneeded(stream)
    return accepted
  } catch (error) {
    if (submission.signal?.aborted === true) unneeded(stream)
    throw error
  }
}

/** The signal ends the wait for an earlier submission with the key, which may take for ever. What
 * has begun hears it by itself.
 * @throws WaybillError SUBMIT_ABORTED by rejection; as `once` */
function orAborted(
  signal: AbortSignal | undefined,
  once: (begun: () => void) => Promise<Accepted>,
): Promise<Accepted> {
  if (signal === undefined) return once(() => undefined)
  return new Promise((resolve, reject) => {
    const deaf = onAbort(signal, () => reject(aborted(signal)))
    once(deaf).finally(deaf).then(resolve, reject)
  })
}

/** It may be the data of another submission. */
function unneeded(stream: Readable | undefined): void {
  if (stream !== undefined && !isUsed(stream)) discard(stream)
}

const toldByReading = (): void => undefined
