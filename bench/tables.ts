/** The Postfix document's three measurements of servers with limited concurrency, as a simulation
 * around our Scheduler.
 * Invariant: time moves only from event to event, and randomness comes from the seed, so a run
 * is repeatable. */
import { below, type Prng, seededPrng } from '../src/base/prng.js'
import type { BenchArguments } from './bench.js'
import {
  type Entry,
  type RecipientBatch,
  Scheduler,
  type SchedulerRecipient,
} from '../src/scheduler/scheduler.js'

/** Do deliveries use connections of earlier ones? */
type Caching = 'no' | 'yes'
type Style = '1/N' | '1/sqrt(N)' | '1'

/** A row: deferred in per cent of the recipients; the window at each delivery's end,
 * before its feedback. */
export interface Row {
  readonly deferredPercent: number
  readonly average: number
  readonly deviation: number
}

export interface ComparedRow {
  readonly table: 1 | 2 | 3
  readonly feedback: Style
  readonly caching: Caching
  readonly document: Row
  readonly ours: Row
  /** The same with the half step that the shipped Postfix adds. */
  readonly rounding: Row
}

/** The server's reaction to a connection while five are served. */
type Refusal =
  /** It says 421 at once. */
  | { readonly kind: 'reject'; readonly afterMs: number }
  /** `waiting` more connections queue up; further ones are lost and fail after the timeout. */
  | { readonly kind: 'backlog'; readonly waiting: number; readonly timeoutMs: number }

interface Scenario {
  readonly table: 1 | 2 | 3
  readonly recipients: number
  readonly initial: number
  readonly refusal: Refusal
  /** Spread of every duration, ± this fraction; of a timeout it stands for connections that did not
   * begin in the same moment. */
  readonly spread: number
  readonly rows: Readonly<Record<Style, Readonly<Record<Caching, Row>>>>
}

const serverLimit = 5
const recipientMs = 1000
const seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
/** Listen backlog 5 and the one more that Linux allows. The only fitted number. */
const waiting = 6
/** Postfix's `smtp_greeting_timeout`, `smtp_connection_reuse_time_limit` and
 * `smtp_connection_cache_time_limit`. */
const greetingTimeoutMs = 300_000
const reuseMsMax = 300_000
const idleMsMax = 2000

const row = (deferredPercent: number, average: number, deviation: number): Row => ({
  deferredPercent,
  average,
  deviation,
})

export const scenarios: readonly Scenario[] = [
  {
    table: 1,
    recipients: 2000,
    initial: 20,
    refusal: { kind: 'backlog', waiting, timeoutMs: 30_000 },
    spread: 0.05,
    rows: {
      '1/N': { no: row(9.9, 19.4, 0.49), yes: row(10.3, 19.4, 0.49) },
      '1/sqrt(N)': { no: row(10.4, 19.6, 0.59), yes: row(10.6, 19.6, 0.61) },
      '1': { no: row(10.1, 19.5, 1.29), yes: row(10.8, 19.3, 1.57) },
    },
  },
  {
    table: 2,
    recipients: 20_000,
    initial: 20,
    refusal: { kind: 'backlog', waiting, timeoutMs: 300_000 },
    spread: 0.05,
    rows: {
      '1/N': { no: row(1.16, 19.8, 0.37), yes: row(1.36, 19.8, 0.36) },
      '1/sqrt(N)': { no: row(1.21, 19.9, 0.23), yes: row(1.36, 20, 0.23) },
      '1': { no: row(1.18, 20, 0.16), yes: row(1.39, 20, 0.16) },
    },
  },
  {
    table: 3,
    recipients: 2000,
    initial: 5,
    refusal: { kind: 'reject', afterMs: 50 },
    spread: 0.15,
    rows: {
      '1/N': { no: row(16.5, 5.17, 0.38), yes: row(16.5, 5.17, 0.38) },
      '1/sqrt(N)': { no: row(24.5, 5.28, 0.45), yes: row(24.3, 5.28, 0.46) },
      '1': { no: row(49.7, 5.63, 0.67), yes: row(49.7, 5.68, 0.7) },
    },
  },
]

const parameterOf: Readonly<Record<Style, string>> = {
  '1/N': '1/concurrency',
  '1/sqrt(N)': '1/sqrt_concurrency',
  '1': '1',
}

interface Session {
  readonly entry: Entry<object>
  readonly accepted: boolean
  /** Of the connection's first delivery. */
  readonly sinceMs: number
  readonly endMs: number
}

/** A connection that no delivery uses. */
interface Idle {
  readonly sinceMs: number
  readonly idleSinceMs: number
}

/** The server: at most five connections have a process, the rest as the scenario says. A cached
 * connection keeps its process. */
class Server {
  readonly #refusal: Refusal
  readonly #spread: number
  readonly #isCaching: boolean
  readonly #prng: Prng
  readonly #open: Session[] = []
  /** They wait for a process, and for its greeting. */
  readonly #line: Session[] = []
  readonly #idle: Idle[] = []
  #served = 0

  constructor({ refusal, spread }: Scenario, caching: Caching, prng: Prng) {
    this.#refusal = refusal
    this.#spread = spread
    this.#isCaching = caching === 'yes'
    this.#prng = prng
  }

  connect(entry: Entry<object>, nowMs: number): void {
    const refusal = this.#refusal
    while (this.#idle.length > 0 && this.#idle[0]!.idleSinceMs + idleMsMax < nowMs) {
      this.#idle.shift()
      this.#free(nowMs)
    }
    const cached = this.#idle.pop()
    if (cached !== undefined) this.#serve(entry, nowMs, cached.sinceMs)
    else if (this.#served < serverLimit) {
      this.#served++
      this.#serve(entry, nowMs, nowMs)
    } else if (refusal.kind === 'reject') this.#wait(this.#open, entry, nowMs + this.#about(refusal.afterMs))
    else if (this.#line.length < refusal.waiting)
      this.#wait(this.#line, entry, nowMs + this.#about(greetingTimeoutMs))
    else this.#wait(this.#open, entry, nowMs + this.#about(refusal.timeoutMs))
  }

  /** The session that ends first. */
  end(): Session | undefined {
    const [first] = [...this.#open, ...this.#line].sort((a, b) => a.endMs - b.endMs)
    if (first === undefined) return undefined
    for (const list of [this.#open, this.#line]) if (list.includes(first)) list.splice(list.indexOf(first), 1)
    if (!first.accepted) return first
    const { endMs, sinceMs } = first
    if (this.#isCaching && endMs - sinceMs < reuseMsMax) this.#idle.push({ sinceMs, idleSinceMs: endMs })
    else this.#free(endMs)
    return first
  }

  #wait(list: Session[], entry: Entry<object>, endMs: number): void {
    list.push({ entry, accepted: false, sinceMs: 0, endMs })
  }

  #serve(entry: Entry<object>, nowMs: number, sinceMs: number): void {
    this.#open.push({ entry, accepted: true, sinceMs, endMs: nowMs + this.#serviceMs(entry) })
  }

  /** A process has no connection any more. */
  #free(nowMs: number): void {
    const next = this.#line.shift()
    if (next === undefined) this.#served--
    else this.#serve(next.entry, nowMs, nowMs)
  }

  #serviceMs({ recipients }: Entry<object>): number {
    let sum = 0
    for (let i = 0; i < recipients.length; i++) sum += this.#about(recipientMs)
    return sum
  }

  #about(ms: number): number {
    const unit = below(this.#prng, 1_000_000) / 1_000_000
    return ms * (1 + this.#spread * (2 * unit - 1))
  }
}

function recipientsOf(count: number): SchedulerRecipient[] {
  return Array.from({ length: count }, (_, index) => {
    const address = `u${String(index).padStart(5, '0')}@site.example`
    return { index, address, transport: 'smtp', nexthop: 'site.example' }
  })
}

/** One run: one message, two recipients per delivery, no second attempts. */
function simulate(scenario: Scenario, style: Style, caching: Caching, seed: number, rounding: boolean): Row {
  const all = recipientsOf(scenario.recipients)
  const scheduler = new Scheduler<object>(
    {
      feedbackRounding: rounding,
      initialDestinationConcurrency: scenario.initial,
      defaultDestinationConcurrencyLimit: 20,
      defaultDestinationRecipientLimit: 2,
      defaultDestinationConcurrencyPositiveFeedback: parameterOf[style],
      defaultDestinationConcurrencyNegativeFeedback: parameterOf[style],
    },
    {
      deferred: () => {
        throw new Error('the destination died: not the measurement that the document describes')
      },
      read: (_, first, countMax): RecipientBatch => {
        const recipients = all.slice(first, first + countMax)
        const unreadCount = all.length - first - recipients.length
        return { recipients, complete: unreadCount === 0, unreadCount }
      },
      done: () => {},
    },
  )
  const server = new Server(scenario, caching, seededPrng(seed))
  const windows: number[] = []
  let deferred = 0
  let nowMs = 0
  scheduler.admit({}, nowMs, nowMs)
  for (;;) {
    for (let entry = scheduler.next(nowMs); entry; entry = scheduler.next(nowMs)) server.connect(entry, nowMs)
    const session = server.end()
    if (session === undefined) break
    nowMs = session.endMs
    for (const { window } of scheduler.destinations()) windows.push(window)
    if (!session.accepted) deferred += session.entry.recipients.length
    scheduler.report(session.entry, session.accepted ? 'ok' : 'site', nowMs)
  }
  const average = windows.reduce((a, b) => a + b, 0) / windows.length
  const variance = windows.reduce((a, b) => a + (b - average) ** 2, 0) / windows.length
  return row((100 * deferred) / scenario.recipients, average, Math.sqrt(variance))
}

function meanOf(scenario: Scenario, style: Style, caching: Caching, rounding: boolean): Row {
  const rows = seeds.map((seed) => simulate(scenario, style, caching, seed, rounding))
  const mean = (pick: (r: Row) => number): number => rows.reduce((sum, r) => sum + pick(r), 0) / rows.length
  return row(
    mean((r) => r.deferredPercent),
    mean((r) => r.average),
    mean((r) => r.deviation),
  )
}

/** All rows of all tables: mean over 12 seeds. */
export function compareTables(): ComparedRow[] {
  return scenarios.flatMap((scenario) =>
    (['1/N', '1/sqrt(N)', '1'] as const).flatMap((feedback) =>
      (['no', 'yes'] as const).map((caching) => ({
        table: scenario.table,
        feedback,
        caching,
        document: scenario.rows[feedback][caching],
        ours: meanOf(scenario, feedback, caching, false),
        rounding: meanOf(scenario, feedback, caching, true),
      })),
    ),
  )
}

const cellsOf = (name: string, { deferredPercent, average, deviation }: Row): Record<string, number> => ({
  [`${name} deferred %`]: deferredPercent,
  [`${name} average`]: average,
  [`${name} deviation`]: deviation,
})

export async function run({ output }: Pick<BenchArguments, 'output'>): Promise<void> {
  const rows = compareTables().map(({ table, feedback, caching, document, ours, rounding }) => ({
    table,
    feedback,
    caching,
    ...cellsOf('document', document),
    ...cellsOf('ours', ours),
    ...cellsOf('rounding', rounding),
  }))
  output.table('deferred recipients, and the window at each delivery; mean of 12 seeds', rows)
}
