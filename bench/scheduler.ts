/** Selections per second, with the active queue full.
 * Invariant: every measured step is one whole life of an entry (admitted if it begins a message, selected, reported), with
 * 20 000 messages in memory all the time; the host's own work is a table look-up. */
import {
  type Entry,
  type RecipientBatch,
  Scheduler,
  type SchedulerRecipient,
} from '../src/scheduler/scheduler.js'

interface BenchArguments {
  readonly json: boolean
}

interface Letter {
  readonly batch: RecipientBatch
}

export interface SchedulerFigure {
  readonly destinations: number
  readonly recipients: number
  readonly active: number
  readonly selectionsPerSecond: number
  readonly nanosecondsPerSelection: number
  /** Processor time of all threads, garbage collection's too: what a busy machine does not falsify. */
  readonly cpuNanosecondsPerSelection: number
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
  const { selected, ms } = run(measureMs)
  const { user, system } = process.cpuUsage(before)
  return {
    destinations,
    recipients,
    active: activeCount,
    selectionsPerSecond: Math.round((selected / ms) * 1000),
    nanosecondsPerSelection: Math.round((ms / selected) * 1_000_000),
    cpuNanosecondsPerSelection: Math.round(((user + system) / selected) * 1000),
  }
}

export async function run({ json }: BenchArguments): Promise<void> {
  const figures: SchedulerFigure[] = []
  for (const recipients of [1, 10, 100, 1000])
    for (const destinations of [1, 1000, 20_000]) figures.push(measure(destinations, recipients))
  if (json) console.log(JSON.stringify(figures))
  else console.table(figures)
}
