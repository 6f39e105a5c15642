/** Checks the data that a transport reads.
 * Invariant: it equals the submitted bytes; a report, which the queue writes, is the same at
 * every attempt. */
import { crc32 } from '../../base/checksum.js'
import type { ModelMessage, ReportNames } from './model-message.js'
import type { Violate } from './violation.js'

/** @param named by the data, of a report */
export function judgeData(
  message: ModelMessage,
  data: Buffer,
  named: ReportNames | undefined,
  violate: Violate,
): void {
  const { name } = message
  if (message.data !== undefined) {
    if (!message.data.equals(data)) violate('O1', `the data of ${name} is not what was submitted`)
    return
  }
  const checksum = crc32(data)
  if (message.checksum !== undefined && message.checksum !== checksum)
    violate('O5', `the report ${name} is not the same at every attempt`, { message: name })
  message.checksum = checksum
  message.names = named
}
