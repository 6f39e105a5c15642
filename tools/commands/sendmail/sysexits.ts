/** The exit codes of sysexits.h, for callers of sendmail. Pure. */
import { errnoOf } from '../../../src/disk/failure.js'
import { isWaybillError, type ErrorCode } from '../../../src/errors.js'
import type { DeliveryResult } from '../../../src/index.js'

export const sysexits = {
  ok: 0,
  usage: 64,
  data: 65,
  unavailable: 69,
  software: 70,
  io: 74,
  tryAgain: 75,
  noPermission: 77,
  config: 78,
} as const

const byCode: Partial<Record<ErrorCode, number>> = {
  NOT_A_QUEUE: sysexits.config,
  FORMAT_NEWER: sysexits.config,
  OPTION_INVALID: sysexits.config,
  LOCK_UNAVAILABLE: sysexits.config,
  NETWORK_FILE_SYSTEM: sysexits.config,
  LOG_CORRUPT: sysexits.io,
  DISK_FAILED: sysexits.io,
}

export function sysexitOfError(error: unknown): number {
  if (isWaybillError(error)) {
    // The disk may have refused only this user.
    if (error.code === 'DISK_FAILED' && isRefusal(error.place.errno)) return sysexits.noPermission
    if (error.code === 'DISK_FAILED' && error.place.errno === readOnly) return sysexits.tryAgain
    return byCode[error.code] ?? (error.reply.code >= 500 ? sysexits.data : sysexits.tryAgain)
  }
  const errno = errnoOf(error)
  if (isRefusal(errno)) return sysexits.noPermission
  if (errno === readOnly) return sysexits.tryAgain
  return errno === undefined ? sysexits.software : sysexits.io
}

const isRefusal = (errno: unknown): boolean => errno === 'EACCES' || errno === 'EPERM'
/** The kernel makes a file system read-only when its device fails, until an operator has
 * mended it. */
const readOnly = 'EROFS'

/** For the worst of the outcomes. */
export function sysexitOfResult(result: DeliveryResult): number {
  const outcomes = 'kind' in result ? [result] : result
  if (outcomes.some(({ kind }) => kind === 'failed')) return sysexits.unavailable
  return outcomes.every(({ kind }) => kind === 'delivered') ? sysexits.ok : sysexits.tryAgain
}
