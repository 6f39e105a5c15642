/** A simulated PostgreSQL server: changes, locks, and a wait for a standby.
 * Invariants, as PostgreSQL has them:
 * 1. A change is executed at once and holds its locks until a standby has it; then it is
 * visible, and its answer goes out. A change whose wait an operator cancels is visible, and on
 * this server alone.
 * 2. Changes share the fence of their part; a claim or a resume has both alone. What conflicts
 * waits, and then sees the newest state.
 * 3. A standby has a prefix of the changes, at least all that were answered. A promotion drops
 * the rest.
 * 4. Nothing is answered by a server that no standby follows. */
import { InvariantError } from '../../base/assert.js'
import { below, type Prng } from '../../base/prng.js'
import type { Answer, Part } from '../../store/store.js'
import type { Oracle } from '../model/violation.js'
import type { SimWorld } from '../world/world.js'
import { Database } from './database.js'

/** What a change locks. */
export type Lock =
  | { readonly kind: 'shared'; readonly queue: number; readonly part: Part; readonly epoch: number }
  | { readonly kind: 'alone'; readonly queue: number; readonly nonce: string }
  | { readonly kind: 'free' }

export type Reply = Answer<unknown> | 'cancelled'

interface Transaction {
  readonly lock: Lock
  readonly apply: (database: Database) => Answer<unknown>
  readonly reply: (answer: Reply) => void
  answer: Answer<unknown> | undefined
  isVisible: boolean
}

/** Tells of what must never be. */
export type Violate = (oracle: Oracle, text: string) => void

export interface Observer {
  readonly violate: Violate
  /** A claim, or a resume, is durable and about to be answered. */
  readonly owns: (queue: number, nonce: string) => void
}

export class SimServer {
  readonly timeline: number
  /** Names of lives that have a connection here. */
  readonly connected: Map<string, number> = new Map()
  /** Ends a connection each. */
  readonly ends: Set<() => void> = new Set()
  isDead = false
  hasStandby = true
  readonly #world: SimWorld
  readonly #prng: Prng
  readonly #observer: Observer
  /** What a standby has, what is visible here, and what was executed. */
  readonly #safe: Database
  readonly #visible: Database
  readonly #executed: Database
  /** Executed, and not on a standby. */
  readonly #log: Transaction[] = []
  readonly #parked: Transaction[] = []
  #isReplicating = false

  constructor(world: SimWorld, observer: Observer, database: Database, timeline: number) {
    this.#world = world
    this.#prng = world.fork()
    this.#observer = observer
    this.timeline = timeline
    this.#safe = database
    this.#visible = database.clone()
    this.#executed = database.clone()
  }

  /** What a question that changes nothing sees. */
  get visible(): Database {
    return this.#visible
  }

  change(lock: Lock, apply: (database: Database) => Answer<unknown>, reply: (answer: Reply) => void): void {
    this.#parked.push({ lock, apply, reply, answer: undefined, isVisible: false })
    this.#execute()
  }

  /** A standby takes over. This server goes on, alone, and does not know it. */
  promoted(): SimServer {
    const database = this.#safe.clone()
    const keptCount = below(this.#prng, this.#log.length + 1)
    for (const { apply } of this.#log.slice(0, keptCount)) apply(database)
    this.hasStandby = false
    return new SimServer(this.#world, this.#observer, database, this.timeline + 1)
  }

  /** An operator cancels the waits for a standby. */
  cancelWaits(): void {
    for (const transaction of this.#log) {
      if (transaction.isVisible) continue
      this.#show(transaction)
      transaction.reply('cancelled')
    }
    this.#execute()
  }

  /** An operator ends all connections. */
  dropConnections(): void {
    for (const end of this.ends) end()
  }

  replicate(): void {
    if (this.#isReplicating || !this.hasStandby || this.isDead || this.#log.length === 0) return
    this.#isReplicating = true
    this.#world.enqueue(() => {
      this.#isReplicating = false
      if (!this.hasStandby || this.isDead) return
      const count = 1 + below(this.#prng, this.#log.length)
      for (const transaction of this.#log.splice(0, count)) this.#replicated(transaction)
      this.#execute()
      this.replicate()
    }, true)
  }

  #replicated(transaction: Transaction): void {
    const { lock, apply, reply, answer, isVisible } = transaction
    if (lock.kind === 'shared' && this.#safe.queue(lock.queue).fences[lock.part].epoch !== lock.epoch)
      this.#observer.violate('O9', `a change of epoch ${lock.epoch} stands behind a later claim`)
    apply(this.#safe)
    if (isVisible) return
    this.#show(transaction)
    if (lock.kind === 'alone') this.#observer.owns(lock.queue, lock.nonce)
    if (answer !== undefined) reply(answer)
  }

  #show(transaction: Transaction): void {
    transaction.isVisible = true
    transaction.apply(this.#visible)
  }

  /** All that waits for no lock. */
  #execute(): void {
    for (let i = 0; i < this.#parked.length;) {
      const transaction = this.#parked[i]!
      if (this.#isHeldUp(transaction.lock)) i++
      else {
        this.#parked.splice(i, 1)
        this.#begin(transaction)
      }
    }
    this.replicate()
  }

  #begin(transaction: Transaction): void {
    const { lock, reply } = transaction
    const isFenced = lock.kind === 'shared' && !this.#visible.holds(lock, lock.part)
    const answer: Answer<unknown> = isFenced
      ? { kind: 'refused', refusal: { kind: 'fenced' } }
      : this.#applied(transaction)
    if (answer.kind !== 'done') return reply(answer)
    transaction.answer = answer
    this.#log.push(transaction)
  }

  #applied({ apply }: Transaction): Answer<unknown> {
    try {
      return apply(this.#executed)
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error
      this.#observer.violate('O2', error.message)
      return { kind: 'unknown', error: undefined as never }
    }
  }

  /** By a transaction that has not ended. */
  #isHeldUp(lock: Lock): boolean {
    return this.#log.some((other) => !other.isVisible && conflicts(lock, other.lock))
  }
}

const conflicts = (a: Lock, b: Lock): boolean =>
  a.kind !== 'free' && b.kind !== 'free' && a.queue === b.queue && (a.kind === 'alone' || b.kind === 'alone')
