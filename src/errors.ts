/** All errors on one page.
 * An operating error has a stable `code` (match on it, not on the class or the text), a place, and
 * the SMTP reply for a waiting client. A programmer error is an InvariantError. */
export interface SmtpReply {
  readonly code: number
  readonly enhanced: string
}

/** Every code, with its reply and meaning. ERRORS.md is made of it: `npm run pages`. */
export const errorCatalogue = {
  // Errors in the caller's input.
  ADDRESS_INVALID: { code: 501, enhanced: '5.1.3', means: 'A sender or recipient is no mail address' },
  RECIPIENTS_EMPTY: { code: 554, enhanced: '5.5.1', means: 'A message has no recipient' },
  RECIPIENTS_TOO_MANY: { code: 452, enhanced: '4.5.3', means: 'More recipients than `recipientCountMax`' },
  MESSAGE_TOO_LARGE: {
    code: 552,
    enhanced: '5.3.4',
    means: 'More data than `dataBytesMax`, or recipients that no segment could hold',
  },
  LINE_TOO_LONG: { code: 554, enhanced: '5.6.0', means: 'A line over 998 octets' },
  NUL_IN_DATA: { code: 554, enhanced: '5.6.0', means: 'A NUL' },
  DATA_INCOMPLETE: { code: 451, enhanced: '4.3.0', means: 'The stream ended before its end' },
  SUBMIT_ABORTED: { code: 451, enhanced: '4.3.0', means: "By the submission's signal" },
  OPTION_INVALID: {
    code: 451,
    enhanced: '4.3.5',
    means: 'An option that is unknown or outside its bounds; the error names it',
  },
  POLICY_INVALID: { code: 451, enhanced: '4.3.5', means: "A policy's text, with its line" },
  VERB_ABORTED: {
    code: 451,
    enhanced: '4.3.0',
    means: "Aborted by the verb's signal; finished effects stay",
  },
  ATTEMPT_WITHDRAWN: {
    code: 451,
    enhanced: '4.3.0',
    means: "An operator ended the message; the reason of an attempt's aborted signal",
  },
  // The queue cannot do it now.
  DISK_FULL: { code: 452, enhanced: '4.3.1', means: 'No room; nothing is lost, try again later' },
  KEYS_TOO_MANY: {
    code: 452,
    enhanced: '4.3.1',
    means: 'As many idempotency keys as `keyCountMax` allows; nothing was accepted, try again later',
  },
  LIST_INCOMPLETE: {
    code: 451,
    enhanced: '4.3.0',
    means: 'A listing is incomplete; the place is that of the missing part',
  },
  QUEUE_CRASHED: {
    code: 451,
    enhanced: '4.3.0',
    means: 'This life is over; unsettled submissions may be there after the next start',
  },
  QUEUE_DRAINING: {
    code: 451,
    enhanced: '4.3.2',
    means: 'The relay takes no mail any more, and delivers what it has: `waybill store drain`',
  },
  // Errors in the directory.
  QUEUE_LOCKED: { code: 451, enhanced: '4.3.0', means: 'Another process owns the directory' },
  LOCK_UNAVAILABLE: { code: 451, enhanced: '4.3.0', means: 'Neither fs-ext nor flock(1) works here' },
  NETWORK_FILE_SYSTEM: {
    code: 451,
    enhanced: '4.3.0',
    means: 'Neither lock nor sync can be relied on there',
  },
  NOT_A_QUEUE: { code: 451, enhanced: '4.3.0', means: 'The directory holds something else' },
  FORMAT_NEWER: { code: 451, enhanced: '4.3.0', means: 'A later version wrote it' },
  LOG_CORRUPT: { code: 451, enhanced: '4.3.0', means: 'Durable bytes do not verify any more' },
  DATA_CORRUPT: { code: 451, enhanced: '4.3.0', means: "A message's data does not match its checksum" },
  LANES_TOO_MANY: {
    code: 451,
    enhanced: '4.3.5',
    means: 'A policy with more than 32 intervals, or mail waits in 32 766 lanes',
  },
  // What a store says.
  QUEUE_LOST: {
    code: 451,
    enhanced: '4.3.0',
    means: 'Another process owns the queue now; this life is over',
  },
  STORE_UNREACHABLE: {
    code: 451,
    enhanced: '4.3.0',
    means: 'No server of the store takes changes, or none has answered in time',
  },
  STORE_UNSAFE: {
    code: 451,
    enhanced: '4.3.5',
    means: 'What the store commits may be on one machine only; the error names the settings',
  },
  STORE_BEHIND: {
    code: 451,
    enhanced: '4.3.0',
    means: 'The store lacks changes that it had answered; accepted mail may be lost',
  },
  // What the device did.
  DISK_FAILED: {
    code: 451,
    enhanced: '4.3.0',
    means: "The device refused a call; `place.errno` has the system's code",
  },
} as const

/** Match on it. */
export type ErrorCode = keyof typeof errorCatalogue

/** Codes that only a `warning` has, with their meaning. */
export const warningCatalogue = {
  TRANSPORT_DEFECT: 'A mistake in the program of a transport; the attempt is retried',
  ROUTE_DEFECT: 'A mistake in the program of `route`; mail without a route is retried',
  LISTENER_DEFECT: 'A mistake in the program of a listener; nothing in the queue changes',
  SETTLE_DEFECT: 'A mistake of ours at one message, when an attempt had ended',
  MESSAGE_HELD: 'A message that ends the process at each attempt was put on hold',
  FILE_SYSTEM: 'The file system does not keep what a queue relies on',
  DELIVERIES_HELD: 'The disk has not answered a synced write for `proofMs`: no attempt begins',
  DELIVERIES_RESUMED: 'The disk has answered, and attempts begin again',
} as const

/** The code of a `warning`. */
export type WarningCode = ErrorCode | keyof typeof warningCatalogue

/** All of them: a transport may throw any of our errors. */
export const warningCodes: readonly WarningCode[] = [
  ...(Object.keys(errorCatalogue) as ErrorCode[]),
  ...(Object.keys(warningCatalogue) as (keyof typeof warningCatalogue)[]),
]

/** Where it happened: the known ones of these. Offsets and lengths are bytes. */
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
  readonly column?: number
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
  /** The reply for an SMTP client that waits for this. */
  readonly reply: SmtpReply

  /** @param reason may end with the place already */
  constructor(code: ErrorCode, reason: string, place: Place = {}, cause?: unknown) {
    super(withPlace(reason, place), cause === undefined ? undefined : { cause })
    this.code = code
    this.place = place
    const { code: number, enhanced } = errorCatalogue[code]
    this.reply = { code: number, enhanced }
  }
}

/** The same in all copies of this module in a process. */
const brand = Symbol.for('waybill.error')
Object.defineProperty(WaybillError.prototype, brand, { value: true })

/** The message of an error that has crossed a thread or a socket names its place already. */
function withPlace(reason: string, place: Place): string {
  const where = Object.entries(place)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ')
  return where === '' || reason.endsWith(` (${where})`) ? reason : `${reason} (${where})`
}

/** An error of another copy of this module, too: a queue that a development server keeps in
 * `globalThis` outlives the module that opened it. */
const isOurs = (error: unknown): error is WaybillError =>
  typeof error === 'object' && error !== null && brand in error

/** Is it one of ours? */
export function isWaybillError(error: unknown): error is WaybillError
/** Is it one of this code? */
export function isWaybillError<Code extends ErrorCode>(
  error: unknown,
  code: Code,
): error is WaybillError & { readonly code: Code }
export function isWaybillError(error: unknown, code?: ErrorCode): boolean {
  return isOurs(error) && (code === undefined || error.code === code)
}
