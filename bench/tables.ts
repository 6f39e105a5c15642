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
  /** Spread of every duration, ± this fraction. */
  readonly spread: number
  readonly rows: Readonly<Record<Style, Row>>
}

const serverLimit = 5
const recipientMs = 1000
const seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
/** Listen backlog 5 and the one more that Linux allows. The only fitted number. */
const waiting = 6

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
    rows: { '1/N': row(9.9, 19.4, 0.49), '1/sqrt(N)': row(10.4, 19.6, 0.59), '1': row(10.1, 19.5, 1.29) },
  },
  {
    table: 2,
    recipients: 20_000,
    initial: 20,
    refusal: { kind: 'backlog', waiting, timeoutMs: 300_000 },
    spread: 0.05,
    rows: { '1/N': row(1.16, 19.8, 0.37), '1/sqrt(N)': row(1.21, 19.9, 0.23), '1': row(1.18, 20, 0.16) },
  },
  {
    table: 3,
    recipients: 2000,
    initial: 5,
    refusal: { kind: 'reject', afterMs: 50 },
    spread: 0.15,
    rows: { '1/N': row(16.5, 5.17, 0.38), '1/sqrt(N)': row(24.5, 5.28, 0.45), '1': row(49.7, 5.63, 0.67) },
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
  endMs: number
}

/** The server: at most five sessions at work, the rest as the scenario says. */
class Server {
  readonly #refusal: Refusal
  readonly #spread: number
  readonly #prng: Prng
  readonly #open: Session[] = []
  readonly #line: Session[] = []
  #served = 0

  constructor({ refusal, spread }: Scenario, prng: Prng) {
    this.#refusal = refusal
    this.#spread = spread
    this.#prng = prng
  }

  connect(entry: Entry<object>, nowMs: number): void {
    const refusal = this.#refusal
    if (this.#served < serverLimit) {
      this.#served++
      this.#open.push({ entry, accepted: true, endMs: nowMs + this.#serviceMs(entry) })
    } else if (refusal.kind === 'reject') {
      this.#open.push({ entry, accepted: false, endMs: nowMs + this.#about(refusal.afterMs) })
    } else if (this.#line.length < refusal.waiting) {
      this.#line.push({ entry, accepted: true, endMs: Infinity })
    } else {
      this.#open.push({ entry, accepted: false, endMs: nowMs + refusal.timeoutMs })
    }
  }

  /** The session that ends first. */
  end(): Session | undefined {
    if (this.#open.length === 0) return undefined
    const first = this.#open.reduce((a, b) => (b.endMs < a.endMs ? b : a))
    this.#open.splice(this.#open.indexOf(first), 1)
    if (!first.accepted) return first
    const next = this.#line.shift()
    if (next === undefined) {
      this.#served--
    } else {
      next.endMs = first.endMs + this.#serviceMs(next.entry)
      this.#open.push(next)
    }
    return first
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
export function simulate(scenario: Scenario, style: Style, seed: number, feedbackRounding: boolean): Row {
  const all = recipientsOf(scenario.recipients)
  const scheduler = new Scheduler<object>(
    {
      feedbackRounding,
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
  const server = new Server(scenario, seededPrng(seed))
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

function meanOf(scenario: Scenario, style: Style, rounding: boolean): Row {
  const rows = seeds.map((seed) => simulate(scenario, style, seed, rounding))
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
    (['1/N', '1/sqrt(N)', '1'] as const).map((feedback) => ({
      table: scenario.table,
      feedback,
      document: scenario.rows[feedback],
      ours: meanOf(scenario, feedback, false),
      rounding: meanOf(scenario, feedback, true),
    })),
  )
}

const cellsOf = (name: string, { deferredPercent, average, deviation }: Row): Record<string, number> => ({
  [`${name} deferred %`]: deferredPercent,
  [`${name} average`]: average,
  [`${name} deviation`]: deviation,
})

export async function run({ output }: Pick<BenchArguments, 'output'>): Promise<void> {
  const rows = compareTables().map(({ table, feedback, document, ours, rounding }) => ({
    table,
    feedback,
    ...cellsOf('document', document),
    ...cellsOf('ours', ours),
    ...cellsOf('rounding', rounding),
  }))
  output.table('deferred recipients, and the window at each delivery; mean of 12 seeds', rows)
}
