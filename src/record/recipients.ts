/** Up to a thousand recipients of a message that has more; the envelope that follows in the same group names these frames. */
import { encodeFields, FieldReader } from './msgpack.js'

export const encodeRecipients = (recipients: readonly string[]): Buffer => encodeFields([recipients])

/** @throws WaybillError LOG_CORRUPT */
export const decodeRecipients = (payload: Buffer): string[] =>
  new FieldReader(payload, 'recipients', 1).texts()
