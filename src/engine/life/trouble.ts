/** Trouble of one message: the warning, and when the message is looked at again.
 * Invariant: nothing was appended when it was met, so nothing is lost, and the rest of
 * the mail goes on. */
import { isError } from '../../base/realms.js'
import type { MessageId } from '../../base/message-id.js'
import { isWaybillError, WaybillError, type ErrorCode } from '../../errors.js'
import type { Parts } from './parts.js'

const soonMs = 60_000
const lateMs = 3_600_000

/** Codes of trouble that does not go away. */
const lasting: readonly ErrorCode[] = ['LOG_CORRUPT', 'DATA_CORRUPT', 'MESSAGE_TOO_LARGE']

/** Milliseconds until a message in trouble is looked at again: soon where a device, a full disk
 * or a policy may be better. Lasting trouble is looked at, too: one day the message is too old,
 * and to end it needs less than to defer it. */
export const lookAgainMs = (error: unknown): number =>
  isWaybillError(error) && !lasting.includes(error.code) ? soonMs : lateMs

/** Emits a `warning`. An error that is no WaybillError is a mistake of ours: SETTLE_DEFECT. */
export function tellTrouble({ events }: Pick<Parts, 'events'>, id: MessageId, error: unknown): void {
  if (isWaybillError(error)) events.emit('warning', { code: error.code, message: error.message, id })
  else {
    const words = isError(error) ? (error.stack ?? error.message) : String(error)
    events.emit('warning', { code: 'SETTLE_DEFECT', message: `internal error while settling: ${words}`, id })
  }
}

/** The error of a full disk. @param what has no room, in words */
export const diskFull = (what: string): WaybillError =>
  new WaybillError('DISK_FULL', `the disk is too full for ${what}`)
