/** A submission with an idempotency key makes a message only where no other with its key did. */
import type { KnownKeys } from '../keys/known-keys.js'
import { isReadable } from './stream-data.js'
import type { Submission } from './submission.js'
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
  const accepted = await keys.once(key, () => submit(own))
  if (accepted.isDuplicate) stream?.destroy()
  return accepted
}

const toldByReading = (): void => undefined
