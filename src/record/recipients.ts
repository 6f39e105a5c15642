/** Up to a thousand recipients of a message that has more; the envelope that follows in the same
 * group names these frames. */
import { encodeFields, FieldReader } from './msgpack.js'

/** @param orcpts of each, if any has one */
export const encodeRecipients = (recipients: readonly string[], orcpts: readonly string[] = []): Buffer =>
  encodeFields(orcpts.length === 0 ? [recipients] : [recipients, orcpts])

/** @throws WaybillError LOG_CORRUPT */
export const decodeRecipients = (payload: Buffer): string[] =>
  new FieldReader(payload, 'recipients', 1).texts()

/** The original recipients that the sender gave, '' where none; empty when there are none.
 * @throws WaybillError LOG_CORRUPT */
export function decodeOrcpts(payload: Buffer): string[] {
  const fields = new FieldReader(payload, 'recipients', 1)
  fields.texts()
  return fields.isAtEnd ? [] : fields.texts()
}
