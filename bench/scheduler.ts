/** Selections per second, with the active queue full.
 * Invariant: every measured step is one whole life of an entry (admitted if it begins a message,
 * selected, reported), with 20 000 messages in memory all the time; the host's own work is a
 * table look-up. */
import type { BenchArguments } from './bench.js'
import {
  type Entry,
  type RecipientBatch,
  Scheduler,
  type SchedulerRecipient,
} from '../src/scheduler/scheduler.js'

interface Letter {
  readonly batch: RecipientBatch
}

export interface SchedulerFigure {
  readonly destinations: number
  readonly recipients: number
  readonly active: number
  readonly selectionsPerSecond: number
  readonly nanosecondsPerSelection: number
  /** Processor time of all threads, garbage collection's too: independent of other load. */
  readonly cpuNanosecondsPerSelection: number
  /** Searches for a candidate per selection, and jobs that they looked at per selection. */
  readonly scansPerSelection: number
  readonly scannedJobsPerSelection: number
}

/** One message of 100 000 recipients beside 10 000 of one. */
export interface MemoryFigure {
  readonly qmgrMessageRecipientLimit: number
  readonly recipientLimit: number
  /** Most recipients in memory, and what the document's formula allows. */
  readonly recipientsPeak: number
  readonly recipientsBound: number
  readonly selections: number
  /** Selections after which half, and the last, of the small messages had been selected. */
  readonly smallHalfAt: number
  readonly smallLastAt: number
}

const activeCount = 20_000
const underWayCount = 50
const warmUpMs = 400
const measureMs = 1500

/** Messages of `recipients` recipients each, spread evenly over the destinations. */
function batchesOf(destinations: number, recipients: number): RecipientBatch[] {
  const shapes = Math.max(1, Math.min(destinations, 20_000 / recipients))
  const batches: RecipientBatch[] = []
  for (let shape = 0; shape < shapes; shape++) {
    const batch: SchedulerRecipient[] = []
    for (let index = 0; index < recipients; index++) {
      const nexthop = `d${(shape * recipients + index) % destinations}.example`
      batch.push({ index, address: `u${index}@${nexthop}`, transport: 'smtp', nexthop })
    }
    batches.push({ recipients: batch, complete: true })
  }
  return batches
}

function partOf(whole: RecipientBatch, first: number, countMax: number): RecipientBatch {
  const { length } = whole.recipients
  if (first === 0 && length <= countMax) return whole
  const recipients = whole.recipients.slice(first, first + countMax)
  const unreadCount = length - first - recipients.length
  return { recipients, complete: unreadCount === 0, unreadCount }
}

function scansOf(scheduler: Scheduler<Letter>): { count: number; jobs: number } {
  const { scanCount, scannedJobs } = scheduler.inspect(() => '').transports.get('smtp')!
  return { count: scanCount, jobs: scannedJobs }
}

export function measure(destinations: number, recipients: number): SchedulerFigure {
  const batches = batchesOf(destinations, recipients)
  let admitted = 0
  let finished = 0
  const scheduler = new Scheduler<Letter>(
    { defaultProcessLimit: 1000 },
    {
      deferred: () => {},
      read: (letter, first, countMax) => partOf(letter.batch, first, countMax),
      done: () => void finished++,
    },
  )
  const admit = (nowMs: number): void => {
    scheduler.admit({ batch: batches[admitted++ % batches.length]! }, nowMs, nowMs)
  }
  let nowMs = 1_800_000_000_000
  while (scheduler.activeCount < activeCount) admit(nowMs)
  const underWay: (Entry<Letter> | undefined)[] = Array.from({ length: underWayCount }, () => undefined)
  let at = 0
  const step = (): number => {
    const free = underWay[at]
    if (free !== undefined) scheduler.report(free, 'ok', nowMs)
    while (finished > 0) {
      finished--
      admit(nowMs)
    }
    const entry = scheduler.next(nowMs)
    underWay[at] = entry
    at = at + 1 === underWayCount ? 0 : at + 1
    return entry === undefined ? 0 : 1
  }
  const run = (durationMs: number): { selected: number; ms: number } => {
    const start = performance.now()
    let selected = 0
    for (;;) {
      for (let i = 0; i < 1000; i++) selected += step()
      const ms = performance.now() - start
      nowMs = Math.floor(nowMs + 1)
      if (ms >= durationMs) return { selected, ms }
    }
  }
  run(warmUpMs)
  const before = process.cpuUsage()
  const scans = scansOf(scheduler)
  const { selected, ms } = run(measureMs)
  const { user, system } = process.cpuUsage(before)
  const after = scansOf(scheduler)
  return {
    destinations,
    recipients,
    active: activeCount,
    selectionsPerSecond: Math.round((selected / ms) * 1000),
    nanosecondsPerSelection: Math.round((ms / selected) * 1_000_000),
    cpuNanosecondsPerSelection: Math.round(((user + system) / selected) * 1000),
    scansPerSelection: Number(((after.count - scans.count) / selected).toFixed(4)),
    scannedJobsPerSelection: Number(((after.jobs - scans.jobs) / selected).toFixed(1)),
  }
}

/** The large message is there first; a hundred deliveries are under way, and end in the order in
 * which they began. */
function measureMemory(qmgrMessageRecipientLimit: number, recipientLimit: number): MemoryFigure {
  const large: Letter = { batch: batchesOf(1000, 100_000)[0]! }
  const small = batchesOf(1000, 1)
  const scheduler = new Scheduler<Letter>(
    { qmgrMessageActiveLimit: 10_001, qmgrMessageRecipientLimit, defaultRecipientLimit: recipientLimit },
    {
      deferred: () => {},
      read: (letter, first, countMax) => partOf(letter.batch, first, countMax),
      done: () => {},
    },
  )
  scheduler.admit(large, 0, 0)
  let recipientsPeak = scheduler.recipientCount
  for (let i = 0; i < 10_000; i++) {
    scheduler.admit({ batch: small[i % small.length]! }, 0, 0)
    recipientsPeak = Math.max(recipientsPeak, scheduler.recipientCount)
  }
  const underWay: Entry<Letter>[] = []
  let selections = 0
  let smallSelected = 0
  let smallHalfAt = 0
  let smallLastAt = 0
  for (;;) {
    const nowMs = selections
    const entry = scheduler.next(nowMs)
    recipientsPeak = Math.max(recipientsPeak, scheduler.recipientCount)
    if (entry === undefined) {
      const oldest = underWay.shift()
      if (oldest === undefined) break
      scheduler.report(oldest, 'ok', nowMs)
      continue
    }
    selections++
    underWay.push(entry)
    if (entry.message === large) continue
    smallSelected++
    if (smallSelected === 5000) smallHalfAt = selections
    smallLastAt = selections
  }
  return {
    qmgrMessageRecipientLimit,
    recipientLimit,
    recipientsPeak,
    recipientsBound: scheduler.recipientBound,
    selections,
    smallHalfAt,
    smallLastAt,
  }
}

export async function run({ output }: Pick<BenchArguments, 'output'>): Promise<void> {
  const speed: SchedulerFigure[] = []
  for (const recipients of [1, 10, 100, 1000])
    for (const destinations of [1, 1000, 20_000]) speed.push(measure(destinations, recipients))
  const memory = [measureMemory(20_000, 20_000), measureMemory(1000, 1000)]
  output.table(
    `whole lives of entries, ${activeCount} messages active`,
    speed.map((figure) => ({ ...figure })),
  )
  output.table(
    'one message of 100 000 recipients beside 10 000 of one: recipients in memory',
    memory.map((figure) => ({ ...figure })),
  )
}
