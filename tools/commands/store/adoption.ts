/** Queues of nodes that are gone, delivered by this one.
 * Invariant: a queue is adopted only by the rules of src/store/owner-watch.ts, and given back as
 * soon as its home node claims it. An adopted queue takes no mail by SMTP, and neither its end nor
 * what it refuses touches the node's own queue. One connection looks at all owners, and a queue is
 * asked for when its owner may be gone. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { systemClock } from '../../../src/base/clock.js'
import { loadStore } from '../../../src/store/load-store.js'
import {
  isWaybillError,
  openQueue,
  type Change,
  type Queue,
  type QueueOptions,
  type Transport,
} from '../../../src/index.js'
import type { QueueRow, Session, Standing } from '../../../src/store/store.js'
import type { StoreDisk } from '../../../src/store/store-disk.js'
import { withParameters } from '../cli/store-parameters.js'

export interface AdoptionOptions {
  /** Of the node's own queue. */
  readonly url: string
  readonly queue: string
  readonly node: string
  readonly ttlMs: number
  readonly options: QueueOptions
  readonly log: Logger
  /** In the turn in which it was opened. */
  readonly onAdopted: (queue: Queue, disk: StoreDisk, name: string) => void
}

interface Adopted {
  readonly queue: Queue
  /** Transports that it knows. */
  readonly names: Set<string>
}

/** A connection is replaced after so many ttls: a server that was primary may answer looks for
 * good. */
const lookTtls = 10

export class Adoption {
  readonly #options: AdoptionOptions
  /** Asked for, or adopted. */
  readonly #busy = new Set<string>()
  /** The owners of the last look, by the numbers of their queues. */
  #seen: ReadonlyMap<number, Standing> = new Map()
  readonly #adopted = new Map<string, Adopted>()
  #changeOf: ((queue: string) => Change) | undefined
  /** Transports that have come since the start. */
  readonly #added: Record<string, Transport> = {}
  #isStopped = false

  constructor(options: AdoptionOptions) {
    this.#options = options
  }

  /** Looks at the owners of all queues until it is stopped. */
  async run(): Promise<void> {
    const { url, ttlMs } = this.#options
    const store = (await loadStore()).pgStore(url, systemClock)
    while (!this.#isStopped) {
      const connection = await store.connect(undefined)
      if (connection.kind === 'done') {
        const session = connection.value
        const untilMs = systemClock.monotonicMs() + lookTtls * ttlMs
        let isAnswered = true
        while (isAnswered && !this.#isStopped && systemClock.monotonicMs() < untilMs) {
          isAnswered = await this.#look(session)
          // Also behind a refusal: the next connection may come as far, and no further.
          await sleep(ttlMs / 2, undefined, { ref: false })
        }
        session.close()
      } else await sleep(ttlMs, undefined, { ref: false })
    }
  }

  /** @returns false when the store did not answer */
  async #look(session: Session): Promise<boolean> {
    const rows = await session.queues()
    if (rows.kind !== 'done') return false
    const seen = new Map<number, Standing>()
    for (const row of rows.value) {
      if (!this.#isForeign(row)) continue
      const standing = await session.standing(row.queue)
      if (standing.kind !== 'done') return false
      seen.set(row.queue, standing.value)
      if (!this.#busy.has(row.name) && mayBeGone(standing.value, this.#seen.get(row.queue))) {
        this.#busy.add(row.name)
        void this.#adopt(row.name).finally(() => this.#busy.delete(row.name))
      }
    }
    this.#seen = seen
    return true
  }

  /** One that no node has served yet is empty, or waits behind a restore for its first. */
  #isForeign({ name, home }: QueueRow): boolean {
    return name !== this.#options.queue && home !== undefined
  }

  /** Other options and further transports, for those that are adopted later, too. */
  reconfigure(changeOf: (queue: string) => Change, added: Readonly<Record<string, Transport>> = {}): void {
    this.#changeOf = changeOf
    Object.assign(this.#added, added)
    for (const [name, adopted] of this.#adopted) this.#tell(name, adopted)
  }

  #tell(name: string, { queue, names }: Adopted): void {
    const missing = Object.entries(this.#added).filter(([transport]) => !names.has(transport))
    try {
      queue.reconfigure({ ...this.#changeOf?.(name), transports: Object.fromEntries(missing) })
      for (const [transport] of missing) names.add(transport)
    } catch (error) {
      this.#options.log.error({ err: error, adopted: name }, 'an adopted queue keeps the options that it has')
    }
  }

  /** No delivery begins any more. */
  stop(): void {
    this.#isStopped = true
    for (const { queue } of this.#adopted.values()) void queue.drain().catch(() => undefined)
  }

  /** Settles when the queue has another owner, and may be asked for again. */
  async #adopt(name: string): Promise<void> {
    const { ttlMs, log, options, onAdopted } = this.#options
    try {
      const transports = { ...options.transports, ...this.#added }
      const { queue, disk } = await this.#open(name, { ...options, transports })
      const adopted = { queue, names: new Set(Object.keys(transports)) }
      this.#adopted.set(name, adopted)
      log.warn({ adopted: name, lock: queue.lockKind }, 'a queue without an owner is adopted')
      const ended = new Promise<{ error?: unknown }>((resolve) => queue.on('crashed', resolve))
      try {
        onAdopted(queue, disk, name)
      } catch (error) {
        // It would deliver, and nobody would see what becomes of it.
        queue.crash()
        this.#adopted.delete(name)
        throw error
      }
      this.#tell(name, adopted)
      const { error } = await ended
      log.warn({ adopted: name, reason: codeOf(error) }, 'an adopted queue is given back')
      this.#adopted.delete(name)
    } catch (error) {
      if (!isWaybillError(error, 'QUEUE_LOCKED'))
        log.warn({ err: error, adopted: name }, 'a queue cannot be adopted now')
    }
    await sleep(ttlMs, undefined, { ref: false })
  }

  async #open(name: string, options: QueueOptions): Promise<{ queue: Queue; disk: StoreDisk }> {
    const { url, node } = this.#options
    const { storeDisk } = await loadStore()
    const disk = storeDisk({
      url: withParameters(url, { queue: name, node }),
      role: 'adopter',
      ownedCount: 1 + this.#adopted.size,
    })
    return { queue: await openQueue(name, { ...options, disk, lockWaitMs: 0 }), disk }
  }
}

/** Nobody is connected, or the beat stands still. A guess, which costs a claim that is refused. */
const mayBeGone = ({ isConnected, beat, epoch }: Standing, before: Standing | undefined): boolean =>
  !isConnected || (before?.beat === beat && before.epoch === epoch)

const codeOf = (error: unknown): string => (isWaybillError(error) ? error.code : String(error))
