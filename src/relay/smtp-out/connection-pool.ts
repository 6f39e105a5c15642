/** Connections that may be used again, by destination.
 * Invariant: at most `connectionsMax` connections are open, idle or busy; a further attempt takes
 * the place of the longest idle one, or waits for the first that is returned. An idle connection
 * that ends leaves the pool at once, and one that nobody wanted for `idleMs` is ended; a server
 * that does not say goodbye is waited for `goodbyeMs`. A busy connection belongs to its borrower
 * alone; one whose borrower has its answer, and only tidies up, gives way like an idle one. */
import { assert } from '../../base/assert.js'
import type { Clock, Timer } from '../../base/clock.js'
import type { SmtpClient } from './smtp-client.js'

export interface PoolLimits {
  /** How long an unused connection is kept, milliseconds; 0 keeps none. */
  readonly idleMs: number
  /** Messages over one connection before it is ended, ≥ 1. */
  readonly messagesMax: number
  /** Open connections to all destinations together, ≥ 1. */
  readonly connectionsMax: number
}

/** How long a server may take to say goodbye, milliseconds: it has its messages, and its place is
 * somebody else's.
 * @see Postfix smtp_skip_quit_response */
const goodbyeMs = 5000

/** Wants a connection, or a place for one. */
interface Waiting {
  readonly nexthop: string
  readonly granted: (client: SmtpClient | undefined) => void
}

export class ConnectionPool {
  readonly #limits: PoolLimits
  readonly #clock: Clock
  /** Idle ones, the most recently used last. */
  readonly #idle = new Map<string, SmtpClient[]>()
  readonly #open = new Set<SmtpClient>()
  /** Those that leave a refused transaction, the first one first. */
  readonly #clearing = new Set<SmtpClient>()
  /** Those that wait for the goodbye. */
  readonly #leaving = new Set<SmtpClient>()
  readonly #waiting: Waiting[] = []
  /** Places given to somebody who has not opened a connection yet. */
  #promisedCount = 0
  #sweep: Timer | undefined
  #closed = false

  constructor(limits: PoolLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get openCount(): number {
    return this.#open.size
  }

  /** The idle connection to `nexthop` that was used last, if there is one: the likeliest to
   * be still alive. */
  takeIdle(nexthop: string): SmtpClient | undefined {
    const clients = this.#idle.get(nexthop)
    const client = clients?.pop()
    if (clients?.length === 0) this.#idle.delete(nexthop)
    return client
  }

  /** Waits for a place, which must be used with `add` or given back with `cancel`; or for a
   * connection that is free before. */
  place(nexthop: string): Promise<SmtpClient | undefined> {
    return new Promise((granted) => {
      const isFull = this.#open.size + this.#promisedCount >= this.#limits.connectionsMax
      if (isFull && !this.#endLongestUnused()) this.#waiting.push({ nexthop, granted })
      else {
        this.#promisedCount++
        granted(undefined)
      }
    })
  }

  /** The place was used: `client` is open or opening, and belongs to the caller. */
  add(client: SmtpClient): void {
    assert(this.#promisedCount > 0, 'a connection takes a place that was promised')
    this.#promisedCount--
    this.#open.add(client)
    client.on('end', () => this.#forget(client))
    if (this.#closed) client.close()
  }

  /** The place is not needed. */
  cancel(): void {
    assert(this.#promisedCount > 0, 'a place was promised')
    this.#promisedCount--
    this.#grantNext()
  }

  /** Nobody's mail waits for what this server says next.
   *    1. a hostile one refuses 200 messages, each in a session, and never answers RSET
   *    2. all places are taken for five minutes, by attempts that are over, so that no limit of the
   *       scheduler counts them
   *    3. no mail goes to anybody */
  clearing(client: SmtpClient): void {
    if (!this.#open.has(client)) return
    if (this.#waiting.length > 0) {
      this.#leave(client)
      return
    }
    client.idleSinceMs = this.#clock.monotonicMs()
    this.#clearing.add(client)
  }

  /** Gives a working connection back, with its session ready for MAIL. */
  keep(nexthop: string, client: SmtpClient): void {
    // It had to give way meanwhile.
    if (!this.#open.has(client)) return
    this.#clearing.delete(client)
    if (client.isOutOfStep) {
      client.close()
      return
    }
    const { idleMs, messagesMax } = this.#limits
    const next = this.#waiting[0]
    const isUsedUp = idleMs === 0 || client.transactionCount >= messagesMax
    if (isUsedUp || (next !== undefined && next.nexthop !== nexthop)) {
      this.#leave(client)
      return
    }
    if (next !== undefined) {
      this.#waiting.shift()
      next.granted(client)
      return
    }
    client.idleSinceMs = this.#clock.monotonicMs()
    const clients = this.#idle.get(nexthop)
    if (clients === undefined) this.#idle.set(nexthop, [client])
    else clients.push(client)
    this.#sweep ??= this.#clock.after(idleMs, this.#sweepIdle)
  }

  /** Drops every connection, busy ones too. */
  close(): void {
    this.#closed = true
    this.#sweep?.cancel()
    for (const client of [...this.#open, ...this.#leaving]) client.close()
  }

  /** The place is free for others although the server has not yet said goodbye. */
  #leave(client: SmtpClient): void {
    const timer = this.#clock.after(goodbyeMs, () => client.close())
    this.#leaving.add(client)
    client.once('end', () => {
      timer.cancel()
      this.#leaving.delete(client)
    })
    client.quit()
    this.#forget(client)
  }

  #forget(client: SmtpClient): void {
    if (!this.#open.delete(client)) return
    this.#clearing.delete(client)
    for (const [nexthop, clients] of this.#idle) {
      const at = clients.indexOf(client)
      if (at < 0) continue
      clients.splice(at, 1)
      if (clients.length === 0) this.#idle.delete(nexthop)
      break
    }
    this.#grantNext()
  }

  #grantNext(): void {
    const next = this.#waiting.shift()
    if (next === undefined) return
    this.#promisedCount++
    next.granted(undefined)
  }

  /** Each list begins with its longest unused connection. */
  #endLongestUnused(): boolean {
    let longest: SmtpClient | undefined
    for (const clients of [...this.#idle.values(), [...this.#clearing]]) {
      const first = clients[0]
      if (first !== undefined && (longest === undefined || first.idleSinceMs < longest.idleSinceMs))
        longest = first
    }
    if (longest === undefined) return false
    this.#leave(longest)
    return true
  }

  readonly #sweepIdle = (): void => {
    this.#sweep = undefined
    const usedBefore = this.#clock.monotonicMs() - this.#limits.idleMs
    for (const clients of this.#idle.values()) {
      for (const client of clients.filter(({ idleSinceMs }) => idleSinceMs <= usedBefore)) this.#leave(client)
    }
    if (this.#idle.size > 0) this.#sweep = this.#clock.after(this.#limits.idleMs, this.#sweepIdle)
  }
}
