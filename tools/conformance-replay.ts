/** Replays one recorded scenario of the Postfix queue manager through our Scheduler.
 * Invariant: every recorded output is compared: the order of events, the effects of each, and every
 * change of every state section. State that the trace does not mention must not change. */
import { type Entry, type RecipientBatch, Scheduler } from '../src/scheduler/scheduler.js'
import { sectionsOf } from './conformance-sections.js'
import {
  type Json,
  messageOf,
  optionsOf,
  rangesOf,
  type Trace,
  type TracedMessage,
  type TraceEvent,
} from './conformance-trace.js'

export type { Trace } from './conformance-trace.js'

/** The first event that differs. `ours` is undefined when the scheduler did nothing where
 * something was recorded. */
export interface Difference {
  readonly at: number
  readonly what: string
  readonly recorded: Json | undefined
  readonly ours: Json | undefined
}

class Mismatch extends Error {
  readonly difference: Difference
  constructor(difference: Difference) {
    super(difference.what)
    this.difference = difference
  }
}

const deadSite = { status: '4.4.1', text: 'site' }
const deadTransport = { status: '4.3.0', text: 'mail transport unavailable' }
const sectionNames = new Set(['Q', 'J', 'L', 'C', 'T', 'M', 'K', 'R'])
/** undefined when the whole trace was reproduced.
 * @throws Error when the trace is not of the known form */
export function replay(trace: Trace): Difference | undefined {
  try {
    new Replay(trace).run()
    return undefined
  } catch (error) {
    if (error instanceof Mismatch) return error.difference
    throw error
  }
}

class Replay {
  readonly #trace: Trace
  readonly #scheduler: Scheduler<TracedMessage>
  readonly #messages: ReadonlyMap<string, TracedMessage>
  readonly #underWay = new Map<number, Entry<TracedMessage>>()
  readonly #requests: string[] = []
  readonly #busyOf = new Map<string, number>()
  #sections: Map<string, string> = new Map()
  #inside: (string | number | number[] | [number, number][])[][] = []
  /** A further batch: it is recorded behind the recipients of it that are deferred at once. */
  #refill: { message: TracedMessage; first: number; count: number; limit: number; before: number } | undefined
  #deliveries = 0
  #nowMs = 0
  #at = 0

  constructor(trace: Trace) {
    this.#trace = trace
    this.#messages = new Map(
      Object.entries(trace.messages).map(([id, groups]) => [id, messageOf(id, groups)]),
    )
    this.#scheduler = new Scheduler<TracedMessage>(optionsOf(trace), {
      deferred: (message, recipients) => this.#deferred(message, recipients),
      read: (message, first, countMax) => this.#read(message, first, countMax),
      done: (message) => {
        this.#endRefill()
        this.#inside.push(['msgdone', message.id, message.deferred ? 1 : 0])
      },
    })
  }

  run(): void {
    const { trace } = this.#trace
    while (this.#at < trace.length) {
      const event = trace[this.#at]!
      this.#input(event)
      this.#compare({ ...event })
      if (event.e === 'time') this.#fireTimers()
      else if (event.e !== 'init') this.#schedule()
    }
  }

  #input(event: TraceEvent): void {
    switch (event.e) {
      case 'init':
        return
      case 'enq':
        for (const id of event['m'] as readonly string[])
          this.#scheduler.admit(this.#messages.get(id)!, this.#nowMs, this.#nowMs)
        return
      case 'time':
        this.#nowMs = (event['now'] as number) * 1000
        return
      case 'xfail':
        this.#scheduler.transportFailed(event['t'] as string, this.#nowMs, deadTransport)
        return
      case 'done':
        this.#report(event['d'] as number, event['r'] as 'ok' | 'defer' | 'site' | 'okreason' | 'crash')
        return
      default:
        this.#fail('an output that the scheduler did not give', event as unknown as Json, undefined)
    }
  }

  #report(delivery: number, result: 'ok' | 'defer' | 'site' | 'okreason' | 'crash'): void {
    const entry = this.#underWay.get(delivery)
    if (entry === undefined) return this.#fail('no such delivery is under way', delivery, undefined)
    this.#underWay.delete(delivery)
    this.#busyOf.set(entry.transport, this.#busyOf.get(entry.transport)! - 1)
    if (result === 'defer' || result === 'site' || result === 'crash') entry.message.deferred = true
    this.#scheduler.report(entry, result, this.#nowMs, deadSite)
  }

  #fireTimers(): void {
    for (let fired = this.#scheduler.fire(this.#nowMs); fired; fired = this.#scheduler.fire(this.#nowMs)) {
      const { kind, transport, name } = fired
      this.#compare(
        name === undefined
          ? { e: 'timer', k: kind, t: transport }
          : { e: 'timer', k: kind, t: transport, q: name },
      )
      this.#schedule()
    }
  }

  #schedule(): void {
    if (this.#trace.config.mode === 'pipeline') return this.#schedulePipeline()
    for (let entry = this.#scheduler.next(this.#nowMs); entry; entry = this.#scheduler.next(this.#nowMs))
      this.#selected(entry)
  }

  /** Agents are requested for all transports first, then each that its process limit
   * allows selects. */
  #schedulePipeline(): void {
    for (;;) {
      const asked: string[] = []
      for (let name = this.#scheduler.request(); name !== undefined; name = this.#scheduler.request())
        asked.push(name)
      this.#requests.push(...asked)
      if (asked.length > 0) this.#compare({ e: 'alloc', t: asked })
      const at = this.#requests.findIndex((name) => (this.#busyOf.get(name) ?? 0) < this.#processLimit(name))
      if (at < 0) return
      const name = this.#requests.splice(at, 1)[0]!
      const expected = this.#trace.trace[this.#at]
      if (expected?.e === 'xfail' && expected['t'] === name) {
        this.#scheduler.refuse(name, this.#nowMs, deadTransport)
        this.#compare({ e: 'xfail', t: name })
        continue
      }
      const entry = this.#scheduler.grant(name, this.#nowMs)
      if (entry === undefined) this.#compare({ e: 'none', t: name })
      else this.#selected(entry)
    }
  }

  #processLimit(transport: string): number {
    const known = this.#trace.config.transports.find(({ name }) => name === transport)
    return (known?.['process_limit'] as number | undefined) ?? 100
  }

  #selected(entry: Entry<TracedMessage>): void {
    const { transport, message, recipients, destinationName: q } = entry
    const delivery = this.#deliveries++
    this.#underWay.set(delivery, entry)
    this.#busyOf.set(transport, (this.#busyOf.get(transport) ?? 0) + 1)
    this.#compare({ e: 'sel', d: delivery, t: transport, m: message.id, q, r: rangesOf(recipients) })
  }

  #deferred(message: TracedMessage, recipients: readonly number[]): void {
    message.deferred = true
    const refill = this.#refill
    const at = recipients[0]! - (refill?.first ?? 0)
    if (refill?.message !== message || at < 0 || at >= refill.count) this.#endRefill()
    const last = this.#inside.at(-1)
    if (last?.[0] === 'defer' && last[1] === message.id) (last[2] as number[]).push(...recipients)
    else this.#inside.push(['defer', message.id, [...recipients]])
  }

  #read(message: TracedMessage, first: number, countMax: number): RecipientBatch {
    const recipients = message.recipients.slice(first, first + countMax)
    this.#endRefill()
    if (first > 0) {
      const { recipientLimit, recipientCount } = this.#scheduler
        .inspect((m) => m.id)
        .messages.get(message.id)!
      const count = recipients.length
      this.#refill = { message, first, count, limit: recipientLimit, before: recipientCount }
    }
    const unreadCount = message.recipients.length - first - recipients.length
    return { recipients, complete: recipients.length < countMax, unreadCount }
  }

  #endRefill(): void {
    if (this.#refill === undefined) return
    const { message, first, count, limit, before } = this.#refill
    this.#inside.push(['refill', message.id, first, count, limit, before])
    this.#refill = undefined
  }

  /** Compares the event at hand, goes on to the next. */
  #compare(ours: Record<string, Json>): void {
    const recorded = this.#trace.trace[this.#at]
    if (recorded === undefined) return this.#fail('the trace ends before the scheduler does', undefined, ours)
    const names = new Set([...Object.keys(recorded), ...Object.keys(ours)])
    for (const name of names)
      if (name !== 'x' && name !== 'now' && !sectionNames.has(name) && !same(recorded[name], ours[name]))
        this.#fail(`the event's ${name}`, recorded as unknown as Json, ours)
    this.#endRefill()
    const inside = this.#inside.map((x) => (x[0] === 'defer' ? [x[0], x[1], rangesOf(x[2] as number[])] : x))
    this.#inside = []
    if (!same((recorded['x'] as Json) ?? [], inside as Json))
      this.#fail('what happened inside', recorded['x'], inside as Json)
    this.#compareSections(recorded)
    this.#at++
  }

  #compareSections(recorded: TraceEvent): void {
    const { trace_rcpt: slots, trace_cache: cache } = this.#trace.config
    const now = sectionsOf(
      this.#scheduler.inspect((m) => m.id),
      { slots, cache },
    )
    const expected = new Map(this.#sections)
    // A message that leaves takes its state with it, without a note.
    for (const [kind, id] of (recorded['x'] as readonly [string, string][] | undefined) ?? [])
      if (kind === 'msgdone') expected.delete(`M ${id}`)
    for (const section of sectionNames) {
      const changed = recorded[section]
      if (changed === undefined || changed === null) continue
      const parts = section === 'R' ? { '': changed } : (changed as Readonly<Record<string, Json>>)
      for (const [key, value] of Object.entries(parts))
        if (value === null) expected.delete(`${section} ${key}`)
        else expected.set(`${section} ${key}`, JSON.stringify(value))
    }
    for (const key of new Set([...expected.keys(), ...now.keys()]))
      if (expected.get(key) !== now.get(key)) this.#fail(`state ${key}`, expected.get(key), now.get(key))
    this.#sections = now
  }

  #fail(what: string, recorded: Json | undefined, ours: Json | undefined): never {
    throw new Mismatch({ at: this.#at, what, recorded, ours })
  }
}

const same = (a: Json | undefined, b: Json | undefined): boolean => JSON.stringify(a) === JSON.stringify(b)
