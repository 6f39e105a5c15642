/** A scheduler and everything that it was told: messages, deliveries under way, what came out.
 * Checks on every step what must hold for each: windows, process limits, shared bounds, recipients
 * per entry, the memory bound, every recipient at most once. */
import { assert } from '../../src/base/assert.js'
import type { DeliveryLimits } from '../../src/policy/concurrency-limits.js'
import {
  type DeferReason,
  type DeliveryReport,
  type DestinationSnapshot,
  type Entry,
  type FeedbackEvent,
  type RecipientBatch,
  Scheduler,
  type SchedulerOptions,
  type SchedulerRecipient,
} from '../../src/scheduler/scheduler.js'

export interface Letter {
  readonly id: string
  readonly recipients: readonly SchedulerRecipient[]
  /** What became of each: nothing yet, selected, deferred. */
  readonly fate: ('waits' | 'selected' | 'deferred')[]
  done: boolean
}

/** Recipients of one destination: transport, nexthop, how many. */
export type Group = readonly [transport: string, nexthop: string, count: number]

/** What destinations may have together, by nexthop in lower case. */
export type LimitTable = Readonly<Record<string, DeliveryLimits>>

interface Promised {
  readonly letter: Letter
  readonly first: number
  readonly countMax: number
}

export class World {
  readonly scheduler: Scheduler<Letter>
  readonly letters: Letter[] = []
  readonly underWay: Entry<Letter>[] = []
  /** Reads that were put off. */
  readonly promised: Promised[] = []
  readonly starts: { readonly name: string; readonly atMs: number; readonly letter: string }[] = []
  readonly events: FeedbackEvent[] = []
  readonly reasons: DeferReason[] = []
  /** Puts every read off while true. */
  reluctant = false
  /** Destinations that have answered, by `transport/name`. */
  readonly #answered = new Set<string>()
  nowMs = 0
  #held = 0
  #options: SchedulerOptions
  #limits: LimitTable | undefined

  constructor(options: SchedulerOptions = {}, limits?: LimitTable) {
    this.#options = options
    this.#limits = limits
    this.scheduler = new Scheduler<Letter>(options, {
      deferred: (letter, recipients, reason) => {
        assert(recipients.length > 0, 'a deferral names a recipient')
        assert(
          reason.status !== '4.4.5' ||
            this.scheduler.activeCount >= (this.#options.crowdedActiveCount || Infinity),
          'mail is put off for others only while memory is crowded',
        )
        for (const index of recipients) this.#settle(letter, index, 'deferred')
        this.#held -= recipients.length
        this.reasons.push(reason)
      },
      read: (letter, first, countMax) => {
        assert(countMax >= 1 && countMax <= 5000, 'a read asks for 1 … 5000 recipients')
        if (this.reluctant) {
          this.promised.push({ letter, first, countMax })
          return undefined
        }
        return this.#batch(letter, first, countMax)
      },
      done: (letter) => {
        assert(!letter.done, 'a message is done once')
        letter.done = true
      },
      onFeedback: (event) => this.events.push(event),
      limitsOf: (_, nexthop) => this.#limits?.[nexthop.toLowerCase()],
    })
  }

  admit(...groups: Group[]): Letter {
    const recipients = groups.flatMap(([transport, nexthop, count], group) =>
      Array.from({ length: count }, (_, i) => ({ address: `u${group}-${i}@${nexthop}`, transport, nexthop })),
    )
    const letter: Letter = {
      id: `m${this.letters.length}`,
      recipients: recipients.map((recipient, index) => ({ index, ...recipient })),
      fate: recipients.map(() => 'waits' as const),
      done: false,
    }
    this.letters.push(letter)
    this.scheduler.admit(letter, this.nowMs, this.nowMs)
    this.#check()
    return letter
  }

  next(): Entry<Letter> | undefined {
    const before = new Map<string, number>()
    for (const { transport } of this.underWay) before.set(transport, (before.get(transport) ?? 0) + 1)
    const entry = this.scheduler.next(this.nowMs)
    if (entry === undefined) return undefined
    const { message, transport, nexthop, recipients, destinationName: name } = entry
    const retried = transport === this.#options.retryTransport
    for (const index of recipients) {
      const recipient = message.recipients[index]!
      assert(retried || recipient.transport === transport, 'a recipient of that transport')
      assert(retried || recipient.nexthop.toLowerCase() === nexthop.toLowerCase(), 'of that destination')
      this.#settle(message, index, 'selected')
    }
    assert(recipients.length >= 1, 'an entry has a recipient')
    this.underWay.push(entry)
    const at = this.destination(transport, name)
    assert(at !== undefined && at.busy <= at.window, 'a destination has at most its window under way')
    const busyBefore = before.get(transport) ?? 0
    assert(at.busy === 1 || busyBefore < this.#openLimit(transport), 'the reserve is for idle destinations')
    assert(
      at.busy === 1 ||
        this.#answered.has(`${transport}/${name}`) ||
        busyBefore < this.#sharedLimit(transport),
      'a destination that has not answered gets one delivery while many are under way',
    )
    assert(
      at.window <= (this.#of(transport, 'destinationConcurrencyLimit', 20) || Infinity),
      'window ≤ limit',
    )
    const limit = this.#of(transport, 'destinationRecipientLimit', 50) || Infinity
    assert(retried || recipients.length <= limit, 'an entry keeps the recipient limit')
    const busy = this.underWay.filter((e) => e.transport === transport).length
    assert(busy <= this.#of(transport, 'processLimit', 100), 'a transport keeps its process limit')
    const roomBefore = this.#roomOf(transport, nexthop) + 1
    assert(roomBefore > 0, 'a delivery begins only below the bounds that it shares')
    this.starts.push({ name: `${transport}/${name}`, atMs: this.nowMs, letter: message.id })
    this.#check()
    return entry
  }

  /** Other parameters, from now on. */
  reconfigure(options: SchedulerOptions): void {
    this.scheduler.reconfigure(options)
    this.#options = options
  }

  /** Selects until nothing can be selected any more. */
  fill(): Entry<Letter>[] {
    const entries: Entry<Letter>[] = []
    for (let entry = this.next(); entry; entry = this.next()) entries.push(entry)
    this.#checkProgress()
    return entries
  }

  report(entry: Entry<Letter>, result: DeliveryReport): void {
    const at = this.underWay.indexOf(entry)
    assert(at >= 0, 'it is under way')
    this.underWay.splice(at, 1)
    this.#held -= entry.recipients.length
    if (result !== 'site' && result !== 'crash')
      this.#answered.add(`${entry.transport}/${entry.destinationName}`)
    this.scheduler.report(entry, result, this.nowMs, { status: '4.4.1', text: 'no route' })
    this.#check()
  }

  /** The policy is another one. */
  limit(limits: LimitTable | undefined): void {
    this.#limits = limits
    this.scheduler.limitsChanged(this.nowMs)
    this.#check()
  }

  /** Deliveries that its shared bounds let a destination begin; below 0 when there are too many. */
  #roomOf(transport: string, nexthop: string): number {
    const limits = this.#limits?.[nexthop.toLowerCase()]
    if (limits === undefined) return Infinity
    const ringOf = (entry: Entry<Letter>): string | undefined =>
      this.#limits?.[entry.nexthop.toLowerCase()]?.ring
    const count = (isMeant: (entry: Entry<Letter>) => boolean): number => this.underWay.filter(isMeant).length
    return Math.min(
      limits.deliveryCountMax - this.underWay.length,
      limits.transportDeliveryCountMax - count((entry) => entry.transport === transport),
      limits.ringDeliveryCountMax - count((entry) => ringOf(entry) === limits.ring),
    )
  }

  fail(transport: string): void {
    this.scheduler.transportFailed(transport, this.nowMs, { status: '4.3.0', text: 'no agent' })
    this.#check()
  }

  /** Answers the oldest read that was put off. */
  supply(): void {
    const promised = this.promised.shift()
    if (promised === undefined) return
    const { letter, first, countMax } = promised
    if (letter.done) return this.scheduler.supply(letter, { recipients: [], complete: true }, this.nowMs)
    this.scheduler.supply(letter, this.#batch(letter, first, countMax), this.nowMs)
    this.#check()
  }

  withdraw(letter: Letter): void {
    for (let i = this.promised.length - 1; i >= 0; i--)
      if (this.promised[i]!.letter === letter) this.promised.splice(i, 1)
    this.scheduler.withdraw(letter)
    this.#held = this.scheduler.recipientCount - this.#promisedCount()
    letter.fate.forEach((fate, index) => {
      if (fate === 'waits') letter.fate[index] = 'deferred'
    })
    this.#check()
  }

  pass(ms: number): void {
    this.nowMs += ms
    this.scheduler.tick(this.nowMs)
    this.#check()
  }

  destination(transport: string, name: string): DestinationSnapshot | undefined {
    for (const d of this.scheduler.destinations()) if (d.transport === transport && d.name === name) return d
    return undefined
  }

  /** Lets everything come to its end. @throws when something is left behind */
  finish(): void {
    this.reluctant = false
    const steps = 100_000
    for (let step = 0; step < steps && this.scheduler.activeCount > 0; step++) {
      this.fill()
      const entry = this.underWay[0]
      if (entry !== undefined) this.report(entry, 'ok')
      else if (this.promised.length > 0) this.supply()
      else {
        assert(this.scheduler.wakeAtMs < Infinity, 'a scheduler that has messages has something to wait for')
        this.pass(Math.max(0, this.scheduler.wakeAtMs - this.nowMs))
      }
    }
    for (const letter of this.letters) {
      assert(letter.done, `${letter.id} came to its end`)
      assert(!letter.fate.includes('waits'), `every recipient of ${letter.id} came out`)
    }
    assert(this.scheduler.recipientCount === 0, 'nothing is left in memory')
  }

  #batch(letter: Letter, first: number, countMax: number): RecipientBatch {
    const recipients = letter.recipients.slice(first, first + countMax)
    this.#held += recipients.length
    const unreadCount = letter.recipients.length - first - recipients.length
    return { recipients, complete: unreadCount === 0, unreadCount }
  }

  #settle(letter: Letter, index: number, fate: 'selected' | 'deferred'): void {
    assert(letter.fate[index] === 'waits', `recipient ${index} of ${letter.id} comes out once`)
    letter.fate[index] = fate
  }

  #promisedCount(): number {
    return this.promised.reduce((sum, { countMax }) => sum + countMax, 0)
  }

  #check(): void {
    const { recipientCount, recipientBound } = this.scheduler
    assert(recipientCount <= recipientBound, 'recipients in memory stay within the bound')
    assert(recipientCount === this.#held + this.#promisedCount(), 'recipients in memory are counted exactly')
    let bound = this.#options.qmgrMessageRecipientMinimum ?? 10
    bound *= this.#options.qmgrMessageActiveLimit ?? 20_000
    for (const [name, { unusedSlots }] of this.scheduler.inspect(({ id }) => id).transports) {
      const extra = this.#of(name, 'extraRecipientLimit', 1000)
      const limit = this.#of(name, 'recipientLimit', 20_000)
      assert(unusedSlots >= -extra && unusedSlots <= limit, 'slots handed out stay within limit + extra')
      bound += limit + extra
    }
    bound = Math.max(bound, this.#options.qmgrMessageRecipientLimit ?? 20_000)
    assert(recipientCount <= bound, "the document's formula holds")
  }

  /** `next` gave up: then nobody who has room has anything waiting. A window that shrank below what
   * is under way may hold up others of its transport (the algorithm's own rule). */
  #checkProgress(): void {
    const all = [...this.scheduler.destinations()]
    for (const [name, { dead, busy }] of this.scheduler.inspect(({ id }) => id).transports) {
      if (dead || busy >= this.#of(name, 'processLimit', 100)) continue
      const own = all.filter((d) => d.transport === name && d.state.kind === 'ready')
      if (own.some((d) => d.busy > d.window && d.recovery === 'none')) continue
      const isShared = busy >= Math.min(this.#openLimit(name), this.#sharedLimit(name))
      for (const d of own) {
        if (isShared && d.busy > 0) continue
        if (this.#roomOf(name, d.nexthop) <= 0) continue
        assert(d.todo === 0 || d.busy >= d.window, `${name}/${d.name} is not passed over`)
      }
    }
  }

  /** Deliveries under way from which on the reserve is used. */
  #openLimit(transport: string): number {
    const limit = this.#of(transport, 'processLimit', 100)
    return limit < 20 ? limit : limit - Math.floor((limit * this.#of(transport, 'processReserve', 0)) / 100)
  }

  /** Deliveries under way from which on a destination that has not answered gets one. */
  #sharedLimit(transport: string): number {
    const limit = this.#of(transport, 'processLimit', 100)
    const share = this.#of(transport, 'unansweredProcessShare', 100)
    return limit < 20 || share === 100 ? limit : Math.floor((limit * share) / 100)
  }

  #of(
    transport: string,
    name:
      | 'processLimit'
      | 'destinationConcurrencyLimit'
      | 'destinationRecipientLimit'
      | 'recipientLimit'
      | 'extraRecipientLimit'
      | 'processReserve'
      | 'unansweredProcessShare',
    fallback: number,
  ): number {
    const default_ = `default${name.charAt(0).toUpperCase()}${name.slice(1)}` as 'defaultProcessLimit'
    return this.#options.transports?.[transport]?.[name] ?? this.#options[default_] ?? fallback
  }
}
