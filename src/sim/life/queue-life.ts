/** One life of a real queue on a simulated disk, watched by a model.
 * Invariant: the model gets each event and call of the queue in the moment in which it happens. */
import { domainOf } from '../../base/mail-address.js'
import type { Route } from '../../engine/life/options.js'
import { openQueue } from '../../queue.js'
import type { Queue } from '../../queue.js'
import { isWaybillError } from '../../errors.js'
import { Callers } from './callers.js'
import type { DiskImage } from '../disk/disk-image.js'
import { consume } from './consuming.js'
import { codeOf, textOf } from './error-text.js'
import type { Fault } from '../disk/faults.js'
import type { Listed } from '../model/model-listing.js'
import { listen } from './listen.js'
import { Moments } from '../world/moment.js'
import type { Notice } from './notice.js'
import type { Patience } from '../model/idle-waits.js'
import type { QueueModel } from '../model/queue-model.js'
import { ScriptedTransport } from './scripted-transport.js'
import { SimDisk, type NumberedOperation } from '../disk/sim-disk.js'
import { Troubles, type Phase } from './trouble.js'
import {
  delivers,
  longestWaitMs,
  mostWaitMs,
  retryOf,
  unroutableDomain,
  type Step,
  type SuspensionStep,
  type VerbStep,
  type Workload,
} from '../workload/workload.js'
import { SimWorld } from '../world/world.js'
import type { EventOrder } from '../world/event-queue.js'

export interface LifeOptions {
  readonly seed: number
  readonly order: EventOrder
  readonly workload: Workload
  readonly model: QueueModel
  readonly image?: DiskImage
  /** Wall time at which it begins, milliseconds since 1970. */
  readonly wallStartMs?: number
  readonly faults?: readonly Fault[]
  /** Counted from the opening of the queue: during recovery, and later. */
  readonly laterFaults?: readonly Fault[]
  /** Called before each call of the disk takes effect. */
  readonly onOperation?: (life: QueueLife, call: NumberedOperation) => void
  /** A crash of the engine is no surprise, even before the device has failed. */
  readonly mayCrash?: boolean
  /** No transport answers before `openGate`. */
  readonly gated?: boolean
}

/** Defaults of a queue. */
const proofMsDefault = 2000

/** Events that the longest life of a test needs, and then some. */
const eventsMax = 300_000

export class QueueLife {
  readonly world: SimWorld
  readonly disk: SimDisk
  readonly model: QueueModel
  readonly transport: ScriptedTransport
  readonly callers: Callers
  readonly moments: Moments
  queue: Queue | undefined
  /** Why the queue ended by itself, if it did. */
  ended: { readonly error: unknown } | undefined
  /** Wall time at which it ended. */
  endedAtMs = 0
  /** Its notices of damage, in order. */
  readonly notices: Notice[] = []
  /** The lanes to which messages went in it, by name. */
  readonly wentTo: Map<string, number> = new Map()
  /** Its recovery has come to an end. */
  recovered = false
  recoveredCount = 0
  readonly trouble: Troubles
  #openGate: () => void = () => undefined
  readonly #options: LifeOptions

  constructor(options: LifeOptions) {
    const { seed, order, model, image, wallStartMs, faults, workload } = options
    this.#options = options
    this.model = model
    this.world = new SimWorld({
      seed,
      order,
      ...(wallStartMs === undefined ? {} : { wallStartMs }),
      onIdle: (forMs) => this.#idled(forMs),
    })
    model.beginLife({
      delivers: delivers(workload),
      waitMsMax: waitMsMaxOf(options),
      isInOrder: order === 'fifo' && !mayFail(options) && !mayHang(workload),
      isShortOfRoom: workload.shortage !== undefined,
      proofMs: workload.setup.proofMs ?? proofMsDefault,
      isDraining: false,
      isPunctual: workload.isPunctual === true && waitMsMaxOf(options) < Infinity,
      beginsAtMs: this.world.clock.wallMs(),
      patience: patienceOf(options),
    })
    this.moments = new Moments(this.world)
    this.callers = new Callers(this)
    this.trouble = new Troubles(this)
    this.disk = new SimDisk(this.world, {
      ...(image === undefined ? {} : { image }),
      ...(faults === undefined ? {} : { faults }),
      observer: {
        before: (call) => this.#before(call),
        fails: (operation, fault) => this.trouble.failed(operation, fault),
      },
      ...(workload.disk === undefined ? {} : { mode: workload.disk }),
    })
    this.disk.image.leave(Infinity)
    const gate =
      options.gated === true ? new Promise<void>((resolve) => (this.#openGate = resolve)) : undefined
    this.transport = new ScriptedTransport({
      world: this.world,
      model,
      prng: this.world.fork(),
      answerMs: workload.answerMs,
      onAttempt: () => this.noteDurable(),
      proof: () => ({ syncedWriteMs: this.disk.syncedWriteMs, isProven: this.disk.lease.isProven }),
      ...(gate === undefined ? {} : { gate }),
    })
  }

  /** Opens the queue. Resolves with false if it does not open; the model has a violation then,
   * unless the device may fail. */
  async open(): Promise<boolean> {
    const { workload } = this.#options
    const { world } = this
    this.trouble.plan(workload)
    try {
      const queue = await world.settle(
        openQueue('queue', {
          ...workload.setup,
          retry: retryOf(workload),
          disk: this.disk,
          clock: world.clock,
          prng: world.fork(),
          transports: { scripted: this.transport },
          route: routeOf,
          // In another order: what was asked for each goes along.
          requeueRecipients: (recipients) => [...recipients].reverse(),
        }),
        { eventsMax },
      )
      this.queue = queue
      listen(this, queue, workload)
      if (workload.consumes === true) void consume(this, queue, world.fork())
      this.callers.repeatAll(workload.steps)
      this.callers.resumeLater()
      this.disk.arm(this.#options.laterFaults ?? [])
      return true
    } catch (error) {
      if (world.stopped) return false
      this.end(error)
      if (!this.mayAnswer(error))
        this.model.violate('O8', `the queue does not open: ${textOf(error)}`, { code: codeOf(error) })
      return false
    }
  }

  /** Plans the steps: each is submitted, or ordered, when its time has come. */
  plan(steps: readonly Step[], verbs: readonly VerbStep[] = []): void {
    this.callers.plan(steps, verbs)
  }

  planSuspensions(steps: readonly SuspensionStep[]): void {
    this.callers.planSuspensions(steps)
  }

  submit(step: Step): void {
    this.callers.submit(step)
  }

  get phase(): Phase {
    if (this.queue === undefined) return 'opening'
    return this.recovered ? 'running' : 'recovering'
  }

  /** Spare segments that the queue counts. */
  get spareCount(): number {
    return this.queue?.stats().journal.spareCount ?? 0
  }

  /** A consumer of an earlier life that nobody plays in this one: outcomes are kept for it. */
  get isOwedOutcomes(): boolean {
    return this.#options.workload.consumes !== true && (this.queue?.consumers().length ?? 0) > 0
  }

  get mayCrash(): boolean {
    return this.trouble.hasFailed || this.#options.mayCrash === true
  }

  get isShortOfRoom(): boolean {
    return this.#options.workload.shortage !== undefined
  }

  /** Deliveries may be held: the journal waits for room or for the disk, or the lock is in
   * doubt. */
  get mayHold(): boolean {
    const { order, workload } = this.#options
    return order !== 'fifo' || mayHang(workload) || this.isShortOfRoom || this.mayCrash
  }

  /** Is this an expected error? */
  mayAnswer(error: unknown): boolean {
    return this.mayCrash || (this.isShortOfRoom && isWaybillError(error, 'DISK_FULL'))
  }

  openGate(): void {
    this.#openGate()
  }

  /** Lets everything happen up to an instant of this life, milliseconds. */
  async run(untilMs: number): Promise<void> {
    await this.world.run({ untilMs, eventsMax })
  }

  /** Lets recovery end and due mail start; no time passes, except until a disk that hangs answers.
   */
  async settleDown(): Promise<void> {
    await this.run(this.world.nowMs)
    // Ends: a workload has so many hangs.
    while (!this.world.stopped && this.disk.hangsUntilMs > this.world.nowMs)
      await this.run(this.disk.hangsUntilMs)
  }

  /** Shows the model the contents of the queue. */
  async list(): Promise<void> {
    const { queue, world } = this
    if (queue === undefined || this.ended !== undefined || this.mayCrash) return
    // Its checkpoint would let the runners go on, but listed messages must not move.
    await this.#checkpoint(queue)
    const listing = async (): Promise<Listed[]> => {
      const all: Listed[] = []
      for await (const listed of queue.list({})) all.push(listed)
      return all
    }
    try {
      const all = await world.settle(listing(), { eventsMax, untilMs: world.nowMs })
      // A message that a failing device does not show is there, but not listed.
      if (!this.mayCrash) this.model.observed(all)
    } catch (error) {
      if (!world.stopped && !this.mayCrash)
        this.model.violate('O8', `the queue cannot be listed: ${textOf(error)}`, { code: codeOf(error) })
    }
  }

  /** A verb that finds nothing ends with a checkpoint. */
  async #checkpoint(queue: Queue): Promise<void> {
    const { world } = this
    const nothing = queue.release({ id: 'none' })
    nothing.catch(() => undefined)
    await this.settleDown()
    if (!world.stopped && this.ended === undefined)
      await world.settle(nothing, { eventsMax }).catch(() => undefined)
    await this.settleDown()
  }

  /** Bytes appended to the journal in this life, and those reported durable. */
  get appendedBytes(): number {
    const journal = this.queue?.stats().journal
    return journal === undefined ? 0 : journal.writtenBytes + journal.stagedBytes
  }

  /** The model learns which facts are durable before it is used. */
  noteDurable(): void {
    if (this.model.hasPending && this.queue !== undefined && this.ended === undefined)
      this.model.durable(this.queue.stats().journal.writtenBytes)
  }

  /** It has ended by itself. */
  end(error: unknown): void {
    this.ended = { error }
    this.notices.push({ kind: 'ended', code: codeOf(error), text: textOf(error) })
    this.endedAtMs = this.world.clock.wallMs()
  }

  #idled(forMs: number): void {
    if (this.recovered && this.ended === undefined && !this.mayCrash)
      this.model.idled(forMs, this.world.clock.wallMs())
  }

  #before(call: NumberedOperation): void {
    this.moments.beforeCall()
    const { onOperation } = this.#options
    if (onOperation === undefined) return
    this.noteDurable()
    onOperation(this, call)
  }
}

function routeOf(recipient: string): Route {
  const nexthop = domainOf(recipient)
  if (nexthop === unroutableDomain) throw new Error('nobody knows the way')
  return { transport: 'scripted', nexthop }
}

const mayFail = ({ faults = [], laterFaults = [], workload, mayCrash }: LifeOptions): boolean =>
  mayCrash === true || faults.length + laterFaults.length > 0 || (workload.drops ?? []).length > 0

/** Deliveries are held for a while. */
const mayHang = ({ hangs = [], doubts = [] }: Workload): boolean => hangs.length + doubts.length > 0

/** Where deliveries may be held, or limits keep them, nothing is known. */
function patienceOf(options: LifeOptions): Patience | undefined {
  const { workload } = options
  const { setup, shortage, suspensions = [] } = workload
  if (!delivers(workload) || shortage !== undefined || mayHang(workload)) return undefined
  if (setup.limits !== undefined || suspensions.length > 0) return undefined
  return {
    retryMsMax: (attempts) => mostWaitMs(workload, attempts),
    checkpointMs: setup.checkpointIntervalMs ?? 0,
    activeCountMax: setup.activeCountMax ?? Infinity,
  }
}

/** Besides its interval a retry may wait for a checkpoint, other attempts, and room
 * among the active. */
const otherWaitsMsMax = 30_000

/** While a call is under way, time stands still only where calls take effect in order; a device
 * that fails is asked again later. */
function waitMsMaxOf(options: LifeOptions): number {
  const { order, workload } = options
  if (workload.waitsForOthers === true) return Infinity
  if (order !== 'fifo' || workload.shortage !== undefined || mayFail(options) || mayHang(workload))
    return Infinity
  return longestWaitMs(workload) + otherWaitsMsMax
}
