/** Everything that can go wrong, on one page. An operating error carries a stable `code` (match on it, not on the
 * class or the text), the place, and the SMTP reply for a client that waits; a programmer error is an InvariantError. */

export interface SmtpReply {
  readonly code: number
  readonly enhanced: string
}

/** Match on it. README.md has them with their replies. */
export type ErrorCode =
  /** A sender or recipient is no mail address. */
  | 'ADDRESS_INVALID'
  /** A message has no recipient. */
  | 'RECIPIENTS_EMPTY'
  /** More recipients than `recipientCountMax`. */
  | 'RECIPIENTS_TOO_MANY'
  /** More data than `dataBytesMax`, or recipients that no segment could hold. */
  | 'MESSAGE_TOO_LARGE'
  /** A line over 998 octets. */
  | 'LINE_TOO_LONG'
  /** A NUL. */
  | 'NUL_IN_DATA'
  /** The stream ended before its end. */
  | 'DATA_INCOMPLETE'
  /** By the submission's signal. */
  | 'SUBMIT_ABORTED'
  /** An option outside its bounds, or that there is not; the error names it. */
  | 'OPTION_INVALID'
  /** A policy's text, with its line. */
  | 'POLICY_INVALID'
  /** By the verb's signal; what was done stays done. */
  | 'VERB_ABORTED'
  /** A listing ends here and does not show all; the place is of what it leaves out. */
  | 'LIST_INCOMPLETE'
  /** No room; nothing is lost, try again later. */
  | 'DISK_FULL'
  /** This life is over; what was not settled may or may not be there after the next start. */
  | 'QUEUE_CRASHED'
  /** Another process owns the directory. */
  | 'QUEUE_LOCKED'
  /** Neither fs-ext nor flock(1) works here. */
  | 'LOCK_UNAVAILABLE'
  /** Neither lock nor sync can be relied on there. */
  | 'NETWORK_FILE_SYSTEM'
  /** The directory holds something else. */
  | 'NOT_A_QUEUE'
  /** A later version wrote it. */
  | 'FORMAT_NEWER'
  /** What was durable does not verify any more. */
  | 'LOG_CORRUPT'
  /** A message's data is not what was submitted. */
  | 'DATA_CORRUPT'
  /** A policy with more than 32 intervals, or all 32 767 lane numbers given. */
  | 'LANES_TOO_MANY'
  /** The device refused a call; `place.errno` has the system's code. */
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
  LIST_INCOMPLETE: { code: 451, enhanced: '4.3.0' },
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

const ownWarnings = [
  'TRANSPORT_DEFECT',
  'SETTLE_DEFECT',
  'MESSAGE_HELD',
  'FILE_SYSTEM',
  'DELIVERIES_HELD',
  'DELIVERIES_RESUMED',
] as const

/** What a `warning` is about: engine/life/events.ts has what those of its own mean. */
export type WarningCode = ErrorCode | (typeof ownWarnings)[number]

/** All of them: what a transport throws may be any of our errors. */
export const warningCodes: readonly WarningCode[] = [
  ...(Object.keys(catalogue) as ErrorCode[]),
  ...ownWarnings,
]

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

/** @param code undefined: any of ours */
export const isWaybillError = (error: unknown, code?: ErrorCode): error is WaybillError =>
  error instanceof WaybillError && (code === undefined || error.code === code)
