/** A queue that does what a test tells it, for the control socket to work on. */
import { EventEmitter } from 'node:events'
import type { ListOptions } from '../../src/admin/select/listing.js'
import type { ListedMessage, QueueEvents, QueueStatistics, Route, Selector } from '../../src/index.js'
import { position } from '../../src/base/position.js'
import type { PinnedFiles } from '../../src/engine/checkpoint/pinned-files.js'
import type { ControlledQueue } from '../../src/control/session.js'
import type { Room } from '../../src/engine/accept/space-watch.js'
import type { SlowOptions } from '../../src/admin/verbs/slow.js'
import type { SuspendOptions } from '../../src/admin/verbs/suspend.js'
import type { VerbOptions, VerbResult } from '../../src/admin/verbs/tally.js'
import type { SuspensionTarget } from '../../src/engine/life/suspensions.js'
import type { DestinationSnapshot } from '../../src/scheduler/scheduler.js'

export const nothing: VerbResult = { messageCount: 0, recipientCount: 0, missedCount: 0, failedCount: 0 }
export const counted = (messageCount: number): VerbResult => ({
  ...nothing,
  messageCount,
  recipientCount: 2 * messageCount,
})

export interface Call {
  readonly verb: string
  readonly selector: Selector
  readonly more: unknown
  readonly options: VerbOptions
}

export class FakeQueue extends EventEmitter<QueueEvents> implements ControlledQueue {
  readonly calls: Call[] = []
  /** What verbs answer. */
  answer: (call: Call) => Promise<VerbResult> = () => Promise.resolve(counted(1))
  listed: (options: ListOptions) => AsyncIterable<ListedMessage> = async function* () {}
  known: readonly DestinationSnapshot[] = []

  /** Of a copy that is being made. */
  pinned: { readonly lost: AbortController; isReleased: boolean } | undefined

  async pinFiles(): Promise<PinnedFiles> {
    const pinned = { lost: new AbortController(), isReleased: false }
    this.pinned = pinned
    return {
      journalEnd: position(8192),
      lost: pinned.lost.signal,
      confirm: () => Promise.resolve(),
      release: () => void (pinned.isReleased = true),
    }
  }

  readonly hold = (selector: Selector, options: VerbOptions = {}): Promise<VerbResult> =>
    this.#called('hold', selector, options)
  readonly release = (selector: Selector, options: VerbOptions = {}): Promise<VerbResult> =>
    this.#called('release', selector, options)
  readonly requeue = (selector: Selector, options: VerbOptions = {}): Promise<VerbResult> =>
    this.#called('requeue', selector, options)
  readonly delete = (selector: Selector, options: VerbOptions = {}): Promise<VerbResult> =>
    this.#called('delete', selector, options)
  readonly expire = (selector: Selector, options: VerbOptions = {}): Promise<VerbResult> =>
    this.#called('expire', selector, options)

  /** What was suspended, and for how long. */
  readonly suspended: unknown[] = []

  async suspend(target: SuspensionTarget, options: SuspendOptions = {}): Promise<void> {
    this.suspended.push({ ...target, ...options })
  }

  async unsuspend(target: SuspensionTarget): Promise<boolean> {
    return this.suspended.length > 0 && this.suspended.push(target) > 0
  }

  /** What was slowed. */
  readonly slowed: unknown[] = []

  slow(options: SlowOptions): void {
    this.slowed.push(options)
  }

  flush(selector: Selector, options: VerbOptions & { perSecond?: number } = {}): Promise<VerbResult> {
    return this.#called('flush', selector, options, options.perSecond)
  }

  reroute(
    selector: Selector,
    to: { transport?: string; nexthop: string },
    options: VerbOptions = {},
  ): Promise<VerbResult> {
    return this.#called('reroute', selector, options, to)
  }

  list(selector: Selector = {}, options: ListOptions = {}): AsyncIterable<ListedMessage> {
    this.calls.push({ verb: 'list', selector, more: undefined, options })
    return this.listed(options)
  }

  stats(): QueueStatistics {
    return { ...idleStatistics, destinations: this.known }
  }

  readonly routesOf = (recipients: readonly string[]): (Route | undefined)[] =>
    recipients.map((recipient) =>
      recipient.includes('@') ? { transport: 'smtp', nexthop: recipient.split('@')[1]! } : undefined,
    )

  written: () => Promise<void> = () => Promise.resolve()

  readonly room = (): Promise<Room> => Promise.resolve(plentyOfRoom)

  destinations(): readonly DestinationSnapshot[] {
    return this.known
  }

  resume(transport: string, name: string): boolean {
    return this.known.some((one) => one.transport === transport && one.name === name)
  }

  #called(verb: string, selector: Selector, options: VerbOptions, more?: unknown): Promise<VerbResult> {
    const call = { verb, selector, more, options }
    this.calls.push(call)
    return this.answer(call)
  }
}

export const plentyOfRoom: Room = {
  freeBytes: 50 * 2 ** 30,
  freeFiles: 1_000_000,
  isShort: false,
  shortOf: undefined,
}

export const idleStatistics: QueueStatistics = {
  recovering: false,
  activeCount: 0,
  activeCountMax: 20_000,
  transports: [],
  damagedCount: 0,
  lanes: [
    {
      lane: 0,
      kind: 'incoming',
      intervalMs: 0,
      waitingBytes: 0,
      segmentCount: 0,
      nextDueAt: undefined,
      markCount: 0,
      damage: undefined,
    },
    {
      lane: 1,
      kind: 'hold',
      intervalMs: Infinity,
      waitingBytes: 4096,
      segmentCount: 2,
      nextDueAt: undefined,
      markCount: 0,
      damage: undefined,
    },
  ],
  journal: {
    segmentCount: 2,
    spareCount: 2,
    diskFull: false,
    suffixBytes: 0,
    stagedBytes: 0,
    syncCount: 7,
    writtenBytes: 70_000,
    syncLastMs: 0.5,
    syncTotalMs: 3.5,
    checkpointCount: 1,
    syncUnderWayMs: 0,
  },
  deliveries: { isHeld: false, heldMs: 0 },
  destinations: [],
}

export const listedMessage = (id: string, more: Partial<ListedMessage> = {}): ListedMessage => ({
  id: id as ListedMessage['id'],
  sender: 'ada@example.org',
  recipients: ['grace@example.net'],
  recipientCount: 1,
  where: 'retry',
  lane: 2,
  acceptedAt: 1_763_000_000_000,
  attempts: 1,
  dataBytes: 1000,
  dueAt: 1_763_000_300_000,
  notes: [],
  ...more,
})

export const destinationAt = (
  nexthop: string,
  more: Partial<DestinationSnapshot> = {},
): DestinationSnapshot => ({
  transport: 'out',
  nexthop,
  name: nexthop,
  window: 5,
  busy: 0,
  todo: 0,
  state: { kind: 'ready' },
  recovery: 'none',
  rate: 0,
  ...more,
})
