/** Queues of nodes that are gone, delivered by this one.
 * Invariant: a queue is adopted only by the rules of src/store/owner-watch.ts, and given back as
 * soon as its home node claims it. An adopted queue takes no mail by SMTP, and neither its end nor
 * what it refuses touches the node's own queue. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { systemClock } from '../../../src/base/clock.js'
import { loadStore } from '../../../src/engine/open-in-store.js'
import {
  isWaybillError,
  openQueue,
  type Change,
  type Queue,
  type QueueOptions,
  type Transport,
} from '../../../src/index.js'
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
  readonly onAdopted: (queue: Queue, disk: StoreDisk) => void
}

interface Adopted {
  readonly queue: Queue
  /** Transports that it knows. */
  readonly names: Set<string>
}

export class Adoption {
  readonly #options: AdoptionOptions
  /** Watched by this node: each by one loop. */
  readonly #watched = new Set<string>()
  readonly #adopted = new Map<string, Adopted>()
  #changeOf: ((queue: string) => Change) | undefined
  /** Transports that have come since the start. */
  readonly #added: Record<string, Transport> = {}
  #isStopped = false

  constructor(options: AdoptionOptions) {
    this.#options = options
  }

  /** Looks for queues until it is stopped. */
  async run(): Promise<void> {
    const { url, queue, ttlMs, log } = this.#options
    const store = (await loadStore()).pgStore(url, systemClock)
    while (!this.#isStopped) {
      const connection = await store.connect(undefined)
      if (connection.kind === 'done') {
        const queues = await connection.value.queues()
        connection.value.close()
        if (queues.kind === 'done')
          for (const { name, home } of queues.value)
            // One that no node has served yet is empty, or waits behind a restore for its first.
            if (name !== queue && home !== undefined && !this.#watched.has(name)) {
              this.#watched.add(name)
              void this.#watch(name).catch((error: unknown) =>
                log.error({ err: error, adopted: name }, 'a queue is not watched any more'),
              )
            }
      }
      await sleep(10 * ttlMs, undefined, { ref: false })
    }
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

  async #watch(name: string): Promise<void> {
    const { ttlMs, log, options, onAdopted } = this.#options
    while (!this.#isStopped) {
      try {
        const transports = { ...options.transports, ...this.#added }
        const { queue, disk } = await this.#open(name, { ...options, transports })
        const adopted = { queue, names: new Set(Object.keys(transports)) }
        this.#adopted.set(name, adopted)
        log.warn({ adopted: name, lock: queue.lockKind }, 'a queue without an owner is adopted')
        onAdopted(queue, disk)
        this.#tell(name, adopted)
        const { error } = await new Promise<{ error?: unknown }>((resolve) => queue.on('crashed', resolve))
        log.warn({ adopted: name, reason: codeOf(error) }, 'an adopted queue is given back')
        this.#adopted.delete(name)
      } catch (error) {
        if (isWaybillError(error, 'NOT_A_QUEUE')) {
          // It was removed from the store. One that is made again is found by its name.
          log.warn({ err: error, adopted: name }, 'a queue is not watched any more')
          this.#watched.delete(name)
          return
        }
        if (!isWaybillError(error, 'QUEUE_LOCKED'))
          log.warn({ err: error, adopted: name }, 'a queue cannot be adopted now')
      }
      await sleep(ttlMs, undefined, { ref: false })
    }
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

const codeOf = (error: unknown): string => (isWaybillError(error) ? error.code : String(error))
