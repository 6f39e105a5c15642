/** A stage for the whole queue: lives one after the other in one directory, simulated or real, with
 * transports that do as told. In the simulated one the body runs in its world: seconds cost
 * nothing, and a run is its seed. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock, type Clock } from '../../src/base/clock.js'
import { seededPrng } from '../../src/base/prng.js'
import type { DeliveryRequest, DeliveryResult, Outcome } from '../../src/delivery/transport.js'
import { openQueue } from '../../src/queue.js'
import type { QueueOptions } from '../../src/engine/life/options.js'
import type { Queue } from '../../src/queue.js'
import { isWaybillError } from '../../src/errors.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { SimDisk, type SimDiskOptions } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import './loaded-beforehand.js'

/** What a transport answers for one recipient at an attempt. */
export type Answer = (recipient: string, request: DeliveryRequest) => Outcome

export const delivered: Outcome = { kind: 'delivered', response: '250 fine' }
export const deferred: Outcome = { kind: 'deferred', status: '4.2.2', reason: 'full' }
export const failed: Outcome = { kind: 'failed', status: '5.1.1', reason: 'nobody' }

/** What is deferred stays so for the whole test, however slow the disk. */
export const patient: Partial<QueueOptions> = { retry: fixedRetry([3_600_000_000], 18_000_000_000) }

export interface Attempt {
  readonly id: string
  readonly recipient: string
  readonly kind: Outcome['kind']
  readonly attempts: number
}

export interface Stage {
  readonly clock: Clock
  /** Every answer that was given, over all lives. */
  readonly attempts: Attempt[]
  /** Data of every delivery, by id and recipient: the last one. */
  readonly data: Map<string, string>
  /** Codes of warnings and of what ended lives. */
  readonly warnings: string[]
  readonly crashes: unknown[]
  /** What recipients get from now on. */
  answer: Answer
  readonly queue: Queue
  /** A new life; the one before is crashed. */
  open(options?: Partial<QueueOptions>): Promise<Queue>
  /** The simulated disk of this life. */
  readonly disk: SimDisk | undefined
  /** Where the real one lies. */
  readonly directory: string
  /** Waits until it holds. */
  until(what: string, holds: () => boolean | Promise<boolean>, withinMs?: number): Promise<void>
  /** Ids of all messages in the queue, sorted, when recovery has ended. */
  ids(): Promise<string[]>
  /** Files of large data that are there now. */
  spoolFiles(): Promise<string[]>
  /** Nobody lists a message, none is active, and no lane with separate logs has anything to
   * pass. */
  isEmpty(): Promise<boolean>
  /** Recipients with this outcome, over all lives, in the order of attempts. */
  told(kind: Outcome['kind']): string[]
}

export interface StageOptions {
  readonly seed?: number
  readonly disk?: Omit<SimDiskOptions, 'image'>
  /** Of every life. */
  readonly queue?: Partial<QueueOptions>
  /** The longest that a call of the simulated disk takes beyond others, milliseconds. Default
   * 1000. */
  readonly overtakeMsMax?: number
}

export type StageRun = <T>(body: (stage: Stage) => Promise<T>, options?: StageOptions) => Promise<T>

/** Segments of eight blocks, so that a few messages fill one. */
const small = {
  segmentBytes: 16 * 4096,
  laneSegmentBytes: 8 * 4096,
  checkpointIntervalMs: 50,
  // Full disks are met where they hurt, not at a floor before.
  freeBytesMin: 0,
} as const

class Theatre implements Stage {
  readonly attempts: Attempt[] = []
  readonly data: Map<string, string> = new Map()
  readonly warnings: string[] = []
  readonly crashes: unknown[] = []
  readonly clock: Clock
  readonly directory: string
  answer: Answer = () => delivered
  disk: SimDisk | undefined
  readonly #options: StageOptions
  readonly #newDisk: () => SimDisk | undefined
  #queue: Queue | undefined
  #life = 0

  constructor(clock: Clock, directory: string, options: StageOptions, newDisk: () => SimDisk | undefined) {
    this.clock = clock
    this.directory = directory
    this.#options = options
    this.#newDisk = newDisk
  }

  get queue(): Queue {
    return this.#queue!
  }

  async open(options: Partial<QueueOptions> = {}): Promise<Queue> {
    this.#queue?.crash()
    this.disk = this.#newDisk()
    const queue = await openQueue(this.directory, {
      ...small,
      retry: fixedRetry([100, 200, 400]),
      clock: this.clock,
      prng: seededPrng((this.#options.seed ?? 0) + this.#life++),
      transports: { out: { deliver: (request) => this.#deliver(request) } },
      route: (recipient) => ({ transport: 'out', nexthop: recipient.slice(recipient.lastIndexOf('@') + 1) }),
      ...this.#options.queue,
      ...options,
      ...(this.disk === undefined ? undefined : { disk: this.disk }),
    })
    queue.on('warning', ({ code }) => this.warnings.push(code))
    queue.on('crashed', ({ error }) => this.crashes.push(error))
    this.#queue = queue
    return queue
  }

  async until(what: string, holds: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
    for (const startedAt = this.clock.monotonicMs(); !(await holds());) {
      if (this.clock.monotonicMs() - startedAt > withinMs) throw new Error(`it never came to be: ${what}`)
      await new Promise<void>((resolve) => this.clock.after(5, resolve))
    }
  }

  async ids(): Promise<string[]> {
    await this.until('recovery ends', () => !this.queue.stats().recovering)
    const ids: string[] = []
    for await (const { id } of this.queue.list()) ids.push(id)
    return ids.sort()
  }

  async spoolFiles(): Promise<string[]> {
    if (this.disk !== undefined) return this.disk.image.files().filter((path) => path.startsWith('spool/'))
    return readdir(join(this.directory, 'spool'))
  }

  async isEmpty(): Promise<boolean> {
    if ((await this.ids()).length > 0) return false
    const { activeCount, lanes } = this.queue.stats()
    return activeCount === 0 && lanes.every(({ waitingBytes }) => waitingBytes === 0)
  }

  told(kind: Outcome['kind']): string[] {
    return this.attempts.filter((attempt) => attempt.kind === kind).map(({ recipient }) => recipient)
  }

  async #deliver(request: DeliveryRequest): Promise<DeliveryResult> {
    const data = await request.data()
    return request.recipients.map((recipient) => {
      const outcome = this.answer(recipient, request)
      this.attempts.push({ id: request.id, recipient, kind: outcome.kind, attempts: request.attempts })
      this.data.set(`${request.id} ${recipient}`, Buffer.isBuffer(data) ? data.toString('latin1') : data.ref)
      return outcome
    })
  }
}

/** The engine has patience with its disk, ten seconds in a listing. A disk on which one call takes
 * longer is for tests about that: here it would be the seed that says whether a listing shows
 * all. */
const overtakeMsDefault = 1000

export const simulated: StageRun = async (body, options = {}) => {
  const { seed = 0, overtakeMsMax = overtakeMsDefault } = options
  const world = new SimWorld({ seed, overtakeMsMax })
  let last: SimDisk | undefined
  const stage: Theatre = new Theatre(world.clock, 'simulated', options, () => {
    const image = last?.image
    last = new SimDisk(world, { ...options.disk, ...(image === undefined ? undefined : { image }) })
    return last
  })
  return world.settle(body(stage), { eventsMax: 5_000_000 })
}

export const real: StageRun = async (body, options = {}) => {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-engine-'))
  const stage = new Theatre(systemClock, join(directory, 'queue'), options, () => undefined)
  try {
    return await body(stage)
  } finally {
    ;(stage.queue as Queue | undefined)?.crash()
    await new Promise<void>((resolve) => setTimeout(resolve, 20))
    await rm(directory, { recursive: true, force: true, maxRetries: 10 })
  }
}

export const stages: readonly (readonly [string, StageRun])[] = [
  ['simulated', simulated],
  ['real', real],
]

/** Lets so much of the stage's time pass, milliseconds. */
export const pause = (stage: Stage, ms: number): Promise<void> =>
  new Promise<void>((resolve) => stage.clock.after(ms, resolve))

/** Makes the simulated disk exactly as large as what it holds, and a little. */
export function fill(stage: Stage, leftBytes = 0): void {
  const { image } = stage.disk!
  const enough = { capacityBytes: 2 ** 40, capacityFiles: 1e9 }
  image.size = enough
  const usedBytes = enough.capacityBytes - image.space().freeBytes
  image.size = { ...enough, capacityBytes: usedBytes + leftBytes }
}

export function empty(stage: Stage): void {
  stage.disk!.image.size = { capacityBytes: Infinity, capacityFiles: Infinity }
}

/** What a promise rejects with, as a code; 'accepted' when it does not. */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'accepted',
    (error: unknown) => (isWaybillError(error) ? error.code : String(error)),
  )

/** A transport that answers nothing until it is released. */
export function gate(): {
  readonly open: () => void
  readonly opened: Promise<void>
  readonly transports: QueueOptions['transports']
} {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open: () => open(), opened, transports: { out: { deliver: () => opened.then(() => delivered) } } }
}

export const mail = (text = 'Hello.'): string => `Subject: test\r\n\r\n${text}\r\n`

export const submission = (
  recipients: string | readonly string[] = 'grace@example.net',
  data: string = mail(),
) =>
  ({
    sender: 'ada@example.org',
    recipients: typeof recipients === 'string' ? [recipients] : recipients,
    data,
  }) as { readonly sender: string; readonly recipients: readonly string[]; readonly data: string }
