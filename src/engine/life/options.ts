/** The options of `openQueue`. Every number has a unit, a default and bounds, checked here
 * and nowhere else. */
import { isMap } from '../../base/realms.js'
import { systemClock, type Clock } from '../../base/clock.js'
import type { AskedRecipient } from '../../base/notification.js'
import {
  checkOptionNames,
  integerOption,
  methodsOption,
  waitMsMax,
  type OptionNames,
} from '../../base/options.js'
import { systemPrng, type Prng } from '../../base/prng.js'
import { addressKind } from '../../base/mail-address.js'
import { isReportingMta } from '../../bounce/report.js'
import { checkedDeadlineMs, type AttemptOptions } from '../../delivery/attempt.js'
import type { Transport } from '../../delivery/transport.js'
import type { Disk } from '../../disk/disk.js'
import { WaybillError } from '../../errors.js'
import type { Layout } from '../../lane/lane-plan.js'
import { blockBytes } from '../../log/segment.js'
import { postfixRetry } from '../../policy/postfix-retry.js'
import type { RetryPolicy } from '../../policy/retry-policy.js'
import type { ReplyShaping, SendingLimit } from '../../policy/rate-limits.js'
import type { SchedulerOptions } from '../../scheduler/scheduler.js'
import { CurrentPolicy } from './current-policy.js'
import { checkLimits, checkPolicy, checkScheduler, checkShaping, checkTransports } from './option-checks.js'

export interface Route {
  /** A name in `transports`. */
  readonly transport: string
  /** What the transport connects to: mostly a domain; where one server takes all mail, its name. It
   * is the scheduler's destination: mail to one nexthop shares a window of deliveries at once, and
   * waits together when the site is in trouble. */
  readonly nexthop: string
}

export interface QueueOptions {
  /** Transports by name; `route` chooses among them. */
  readonly transports: Readonly<Record<string, Transport>>
  /** Gives a recipient's transport and nexthop, synchronously. It is called at every attempt, once
   * for each recipient. If it throws, or answers no route, the recipient is deferred; a mistake
   * also emits `warning` ROUTE_DEFECT. */
  readonly route: (recipient: string) => Route
  /** The policy: when to try again, when to give up, and how many deliveries a destination may have
   * at once. Default: `postfixRetry()`. */
  readonly retry?: RetryPolicy | undefined
  /** The scheduler's parameters, under their Postfix names, times in SECONDS:
   * `defaultDestinationRateDelay` for all transports, `transports: { smtp: { destinationRateDelay }
   * }` for one, where each says what it means. The limit of active messages is `activeCountMax`. */
  readonly scheduler?: Omit<SchedulerOptions, 'qmgrMessageActiveLimit'> | undefined
  /** How many messages may be sent in a time, by nexthop, tag, sender and source (LIMITS.md).
   * Counts are in memory: each life begins anew. Default: no limits. */
  readonly limits?: readonly SendingLimit[] | undefined
  /** Replies that slow a site for a while (LIMITS.md). Default: none. */
  readonly shaping?: readonly ReplyShaping[] | undefined
  /** false: mail is only accepted, and the next life delivers it. Default true. */
  readonly deliver?: boolean | undefined
  /** The deadline of attempts. */
  readonly attempt?: AttemptOptions | undefined
  /** The host that reports name as their origin, in the form of EHLO. Default 'localhost'. */
  readonly reportingMta?: string | undefined
  /** The address in `From` of reports, in ASCII. Default `MAILER-DAEMON@` the host of
   * `reportingMta`. */
  readonly reportAuthor?: string | undefined
  /** Gives the recipients of reports to a sender that is an alias, synchronously: the first 16 of
   * these addresses count, and the sender itself if there are none. It is called when a report is
   * written. If it throws, or answers no list, a `warning` with OPTION_INVALID is emitted, and it
   * is called again later: no report is lost. Default: none. */
  readonly reportRecipients?: ((sender: string) => readonly string[]) | undefined
  /** Gives the recipients of a requeued message in place of those that still wait, synchronously:
   * for tables of aliases that have changed. It answers at least one, each with its requests for
   * reports; the same address twice is one recipient. If it throws, or its answer is no such list
   * or more than `submit` takes, a `warning` is emitted, and the message stays as it was. Default:
   * the recipients that wait. */
  readonly requeueRecipients?:
    ((recipients: readonly AskedRecipient[]) => readonly (string | AskedRecipient)[]) | undefined
  /** Largest message, bytes, 1 … 2 GiB. Default 50 MiB. */
  readonly dataBytesMax?: number | undefined
  /** The largest data that stands in the log, bytes, 0 … an eighth of a segment; larger data has a
   * separate file. Default 128 KiB. */
  readonly inlineBytesMax?: number | undefined
  /** Recipients of one message, 1 … 1 000 000. Default 100 000. */
  readonly recipientCountMax?: number | undefined
  /** Active messages, 1 … 1 000 000. Default 20 000. EMBEDDING.md says what memory they take. */
  readonly activeCountMax?: number | undefined
  /** Bytes of a journal segment, a multiple of 4096, 32 KiB … 2 GiB; fixed when the queue is
   * created. Default 16 MiB: a new queue writes 64 MiB of zeroes. */
  readonly segmentBytes?: number | undefined
  /** Bytes of a lane's segment, a multiple of 4096, 32 KiB … 16 MiB; fixed when the queue is
   * created. Default 16 MiB. */
  readonly laneSegmentBytes?: number | undefined
  /** New mail is refused while the file system has less free than this, bytes, 0 … 2⁵⁰. Default 64
   * MiB, or one journal segment if that is larger. 0: no bound. */
  readonly freeBytesMin?: number | undefined
  /** `lanes`, or `single`: one log for everything. It may change from life to life. Default
   * `lanes`. */
  readonly layout?: Layout | undefined
  /** The most bytes of the journal that a recovery has to read, 4096 … 1 TiB. Default 64 MiB. */
  readonly suffixBytesMax?: number | undefined
  /** Time between checkpoints while there is activity, milliseconds, 1 … 3 600 000. Default
   * 2000. */
  readonly checkpointIntervalMs?: number | undefined
  /** A message that more recoveries than this, in a row, found attempted and without progress is
   * put on hold, 0 … 1 000 000; 0: never. Default 10: a message that ends each process in its
   * attempt is held after 11 lives, or 12 when the first of them had only just accepted it.
   * From the second such recovery on, these messages are attempted one at a time, a second
   * apart, so that no other mail is held with them. */
  readonly fruitlessRecoveriesMax?: number | undefined
  /** No attempt begins while a synced write has waited for the disk for longer than this,
   * milliseconds, 1 … 86 400 000. It bounds how many deliveries a crash repeats when the disk
   * hangs. Default 2000. */
  readonly proofMs?: number | undefined
  /** How long `openQueue` waits for a queue that another process has open, milliseconds, 0 … 86 400
   * 000: in a rolling deployment the next process starts before the last one has ended. Default 0:
   * QUEUE_LOCKED at once. */
  readonly lockWaitMs?: number | undefined
  /** How long an `idempotencyKey` is remembered after its message was accepted, milliseconds, 1 … a
   * year. Default: a day. */
  readonly keyRetentionMs?: number | undefined
  /** The most keys that are remembered, 0 … 100 000 000. Beyond it a new key is refused with
   * KEYS_TOO_MANY. Each takes at most 64 bytes of memory. Default 1 000 000. */
  readonly keyCountMax?: number | undefined
  /** The most bytes of outcomes that are kept for consumers that have not read them, 32 KiB … 1
   * PiB, in whole segments of a lane. Default 1 GiB: about ten million outcomes. */
  readonly outcomeBytesMax?: number | undefined
  /** The time, for simulations and tests. Default: the system's clocks. */
  readonly clock?: Clock | undefined
  /** Randomness, for simulations. Default: the system's. */
  readonly prng?: Prng | undefined
  /** The disk of the queue, in place of the directory, for simulations. */
  readonly disk?: Disk | undefined
}

/** Every option has its value. */
type Complete<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> }

export interface EngineOptions extends Complete<
  Omit<QueueOptions, 'disk' | 'transports' | 'scheduler' | 'retry' | 'limits' | 'shaping'>
> {
  readonly retry: CurrentPolicy
  readonly disk: Disk
  /** These change while the queue lives (change.ts). */
  readonly transports: Record<string, Transport>
  scheduler: NonNullable<QueueOptions['scheduler']>
  limits: NonNullable<QueueOptions['limits']>
  shaping: NonNullable<QueueOptions['shaping']>
}

export const queueOptionNames: OptionNames<QueueOptions> = {
  transports: true,
  route: true,
  retry: true,
  scheduler: true,
  limits: true,
  shaping: true,
  deliver: true,
  attempt: true,
  reportingMta: true,
  reportAuthor: true,
  reportRecipients: true,
  requeueRecipients: true,
  dataBytesMax: true,
  inlineBytesMax: true,
  recipientCountMax: true,
  activeCountMax: true,
  segmentBytes: true,
  laneSegmentBytes: true,
  freeBytesMin: true,
  layout: true,
  suffixBytesMax: true,
  checkpointIntervalMs: true,
  fruitlessRecoveriesMax: true,
  proofMs: true,
  lockWaitMs: true,
  keyRetentionMs: true,
  keyCountMax: true,
  outcomeBytesMax: true,
  clock: true,
  prng: true,
  disk: true,
}

const clockMethods: OptionNames<Clock> = { wallMs: true, monotonicMs: true, after: true, soon: true }
const diskMethods: OptionNames<Omit<Disk, 'traits'>> = {
  list: true,
  makeDirectory: true,
  removeDirectory: true,
  open: true,
  rename: true,
  unlink: true,
  syncDirectory: true,
  stat: true,
  space: true,
  lock: true,
  abandon: true,
}

const mebibyte = 1024 * 1024
const dayMs = 86_400_000

/** Integers whose bounds depend on no other option: default, least, most. */
const bounded = {
  dataBytesMax: [50 * mebibyte, 1, 2 ** 31],
  recipientCountMax: [100_000, 1, 1_000_000],
  activeCountMax: [20_000, 1, 1_000_000],
  suffixBytesMax: [64 * mebibyte, blockBytes, 2 ** 40],
  checkpointIntervalMs: [2000, 1, 3_600_000],
  fruitlessRecoveriesMax: [10, 0, 1_000_000],
  proofMs: [2000, 1, waitMsMax],
  lockWaitMs: [0, 0, waitMsMax],
  keyRetentionMs: [dayMs, 1, 365 * dayMs],
  keyCountMax: [1_000_000, 0, 100_000_000],
  outcomeBytesMax: [1024 * mebibyte, mebibyte / 32, 2 ** 50],
} as const satisfies Partial<Record<keyof QueueOptions, readonly [number, number, number]>>

type BoundedName = keyof typeof bounded
const boundedNames = Object.keys(bounded) as BoundedName[]

function boundedOptions(given: QueueOptions): Record<BoundedName, number> {
  const valueOf = (name: BoundedName): number => {
    const [byDefault, least, most] = bounded[name]
    return integerOption(name, given[name] ?? byDefault, least, most)
  }
  return Object.fromEntries(boundedNames.map((name) => [name, valueOf(name)])) as Record<BoundedName, number>
}

type SizeName = 'segmentBytes' | 'laneSegmentBytes' | 'inlineBytesMax' | 'freeBytesMin'

/** Sizes of which each bounds the next, or is its default. */
function sizeOptions(given: QueueOptions): Record<SizeName, number> {
  const segmentBytes = blocks('segmentBytes', given.segmentBytes ?? 16 * mebibyte, 8, 2 ** 31)
  const laneGiven = given.laneSegmentBytes ?? 16 * mebibyte
  const laneSegmentBytes = blocks('laneSegmentBytes', laneGiven, 8, 16 * mebibyte)
  const inlineMost = inlineBytesMost({ segmentBytes, laneSegmentBytes })
  const inlineGiven = given.inlineBytesMax ?? Math.min(128 * 1024, inlineMost)
  const freeGiven = given.freeBytesMin ?? Math.max(segmentBytes, 64 * mebibyte)
  return {
    segmentBytes,
    laneSegmentBytes,
    inlineBytesMax: integerOption('inlineBytesMax', inlineGiven, 0, inlineMost),
    freeBytesMin: integerOption('freeBytesMin', freeGiven, 0, 2 ** 50),
  }
}

function checkGiven(given: QueueOptions): void {
  if (typeof given?.route !== 'function' || typeof given.transports !== 'object' || given.transports === null)
    throw new WaybillError('OPTION_INVALID', '`transports` and `route` are both required')
  if (isMap(given.transports))
    throw new WaybillError('OPTION_INVALID', 'transports is an object with transports by name, not a Map', {
      option: 'transports',
    })
  checkOptionNames(given, queueOptionNames)
  checkOptionNames(given.attempt ?? {}, { deadlineMs: true }, 'attempt')
  checkedDeadlineMs(given.attempt ?? {})
  checkTransports(given.transports)
}

/** @throws WaybillError OPTION_INVALID, which names the option, the value and the bounds */
export function engineOptions(given: QueueOptions, disk: Disk): EngineOptions {
  checkGiven(given)
  return {
    ...boundedOptions(given),
    ...sizeOptions(given),
    transports: { ...given.transports },
    route: given.route,
    retry: new CurrentPolicy(checkPolicy(given.retry ?? postfixRetry())),
    scheduler: checkScheduler(given.scheduler ?? {}, given.transports),
    limits: checkLimits(given.limits ?? []),
    shaping: checkShaping(given.shaping ?? []),
    deliver: oneOf('deliver', given.deliver ?? true, [true, false]),
    attempt: given.attempt ?? {},
    reportingMta: checkHost(given.reportingMta ?? 'localhost'),
    reportAuthor: checkAuthor(given.reportAuthor) ?? `MAILER-DAEMON@${given.reportingMta ?? 'localhost'}`,
    reportRecipients: checkFunction('reportRecipients', given.reportRecipients ?? nobodyElse),
    requeueRecipients: checkFunction('requeueRecipients', given.requeueRecipients ?? sameRecipients),
    layout: oneOf('layout', given.layout ?? 'lanes', ['lanes', 'single']),
    clock:
      given.clock === undefined
        ? systemClock
        : wholeMilliseconds(methodsOption('clock', given.clock, clockMethods)),
    prng: methodsOption('prng', given.prng ?? systemPrng(), { uint32: true }),
    disk: methodsOption('disk', disk, diskMethods),
  }
}

const nobodyElse = (): readonly string[] => []

export const sameRecipients = (recipients: readonly AskedRecipient[]): readonly AskedRecipient[] => recipients

function checkFunction<T>(option: string, value: T): T {
  if (typeof value !== 'function') throw new WaybillError('OPTION_INVALID', 'expected a function', { option })
  return value
}

function checkHost(host: string): string {
  if (!isReportingMta(host))
    throw new WaybillError('OPTION_INVALID', `'${host}' is no host name or address literal`, {
      option: 'reportingMta',
    })
  return host
}

function checkAuthor(address: string | undefined): string | undefined {
  if (address !== undefined && (typeof address !== 'string' || addressKind(address) !== 'ascii'))
    throw new WaybillError('OPTION_INVALID', `'${String(address)}' is no address in ASCII`, {
      option: 'reportAuthor',
    })
  return address
}

/** The last millisecond that fits a frame's header. */
const wallMsMax = 2 ** 48 - 1

/** A clock whose wall time fits a record, an integer from 0 on, whatever the given clock says: NaN
 * and times before 1970 are 0.
 *    1. a clock stands before 1970
 *    2. mail is settled
 *    3. a restart cannot read its envelope */
const wholeMilliseconds = (clock: Clock): Clock => ({
  wallMs: () => {
    const wallMs = Math.floor(clock.wallMs())
    return wallMs >= 0 ? Math.min(wallMs, wallMsMax) : 0
  },
  monotonicMs: () => clock.monotonicMs(),
  after: (delayMs, callback) => clock.after(delayMs, callback),
  soon: (callback) => clock.soon(callback),
})

/** The most bytes of data that may stand in the log: a message and the report on it must fit a
 * segment together. */
export const inlineBytesMost = (sizes: {
  readonly segmentBytes: number
  readonly laneSegmentBytes: number
}): number => Math.floor(Math.min(sizes.segmentBytes, sizes.laneSegmentBytes) / 8)

function blocks(option: string, value: number, leastBlocks: number, most: number): number {
  integerOption(option, value, leastBlocks * blockBytes, most)
  if (value % blockBytes !== 0)
    throw new WaybillError('OPTION_INVALID', `${value} is not a multiple of ${blockBytes}`, { option })
  return value
}

function oneOf<T extends string | boolean>(option: string, value: T, values: readonly T[]): T {
  if (!values.includes(value))
    throw new WaybillError('OPTION_INVALID', `'${String(value)}' is none of ${values.join(', ')}`, { option })
  return value
}
