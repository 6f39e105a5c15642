/** Everything that can go wrong, on one page. An operating error carries a stable `code` (match on it, not on the
 * class or the text), the place, and the SMTP reply for a client that waits; a programmer error is an InvariantError. */

export interface SmtpReply {
  readonly code: number
  readonly enhanced: string
}

export type ErrorCode =
  | 'ADDRESS_INVALID'
  | 'RECIPIENTS_EMPTY'
  | 'RECIPIENTS_TOO_MANY'
  | 'MESSAGE_TOO_LARGE'
  | 'LINE_TOO_LONG'
  | 'NUL_IN_DATA'
  | 'DATA_INCOMPLETE'
  | 'SUBMIT_ABORTED'
  | 'OPTION_INVALID'
  | 'POLICY_INVALID'
  | 'VERB_ABORTED'
  | 'DISK_FULL'
  | 'QUEUE_CRASHED'
  | 'QUEUE_LOCKED'
  | 'LOCK_UNAVAILABLE'
  | 'NETWORK_FILE_SYSTEM'
  | 'NOT_A_QUEUE'
  | 'FORMAT_NEWER'
  | 'LOG_CORRUPT'
  | 'DATA_CORRUPT'
  | 'LANES_TOO_MANY'
  | 'DISK_FAILED'

const catalogue: Readonly<Record<ErrorCode, SmtpReply>> = {
  // What the caller handed in.
  ADDRESS_INVALID: { code: 501, enhanced: '5.1.3' },
  RECIPIENTS_EMPTY: { code: 554, enhanced: '5.5.1' },
  RECIPIENTS_TOO_MANY: { code: 452, enhanced: '4.5.3' },
  MESSAGE_TOO_LARGE: { code: 552, enhanced: '5.3.4' },
  LINE_TOO_LONG: { code: 554, enhanced: '5.6.0' },
  NUL_IN_DATA: { code: 554, enhanced: '5.6.0' },
  DATA_INCOMPLETE: { code: 451, enhanced: '4.3.0' },
  SUBMIT_ABORTED: { code: 451, enhanced: '4.3.0' },
  OPTION_INVALID: { code: 451, enhanced: '4.3.5' },
  POLICY_INVALID: { code: 451, enhanced: '4.3.5' },
  VERB_ABORTED: { code: 451, enhanced: '4.3.0' },
  // What the queue cannot do now.
  DISK_FULL: { code: 452, enhanced: '4.3.1' },
  QUEUE_CRASHED: { code: 451, enhanced: '4.3.0' },
  // What lies in the directory.
  QUEUE_LOCKED: { code: 451, enhanced: '4.3.0' },
  LOCK_UNAVAILABLE: { code: 451, enhanced: '4.3.0' },
  NETWORK_FILE_SYSTEM: { code: 451, enhanced: '4.3.0' },
  NOT_A_QUEUE: { code: 451, enhanced: '4.3.0' },
  FORMAT_NEWER: { code: 451, enhanced: '4.3.0' },
  LOG_CORRUPT: { code: 451, enhanced: '4.3.0' },
  DATA_CORRUPT: { code: 451, enhanced: '4.3.0' },
  LANES_TOO_MANY: { code: 451, enhanced: '4.3.5' },
  // What the device did.
  DISK_FAILED: { code: 451, enhanced: '4.3.0' },
}

/** Where it happened: whichever of these are known. Offsets and lengths are bytes. */
export interface Place {
  /** Of the queue, where `path` is a file in it. */
  readonly directory?: string
  readonly path?: string
  readonly log?: string
  readonly segment?: number
  readonly offsetBytes?: number
  readonly position?: number
  readonly option?: string
  readonly line?: number
  readonly id?: string
  readonly recipient?: string
  readonly operation?: string
  /** The system's own code, `EIO` or `ENOSPC`. */
  readonly errno?: string
}

export class WaybillError extends Error {
  override readonly name = 'WaybillError'
  readonly code: ErrorCode
  readonly place: Place
  /** What to tell an SMTP client that waits for this. */
  readonly reply: SmtpReply

  constructor(code: ErrorCode, reason: string, place: Place = {}, cause?: unknown) {
    const where = Object.entries(place)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name} ${String(value)}`)
      .join(', ')
    super(where === '' ? reason : `${reason} (${where})`, cause === undefined ? undefined : { cause })
    this.code = code
    this.place = place
    this.reply = catalogue[code]
  }
}

export const isWaybillError = (error: unknown, code?: ErrorCode): error is WaybillError =>
  error instanceof WaybillError && (code === undefined || error.code === code)
