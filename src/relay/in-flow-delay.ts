/** Slows down a client that brings more mail than leaves, like Postfix's in_flow_delay.
 * Invariant: while the active queue is full, a client gets at most one answer `250` in `delayMs`;
 * a message is durable before its answer waits. A client with less mail than that never waits.
 * Memory holds at most `clientsMax` clients.
 * Why: 1. A runaway program submits as fast as it can.  2. Its mail fills incoming, in order.
 *   3. The mail of the others waits behind it, for hours. */
import { pause, type Clock } from '../base/clock.js'
import { clientNetwork } from './smtp-in/client-networks.js'

export const clientsMax = 10_000
/** The queue is looked at so often, at most. */
const lookMs = 100

export interface InFlowDelayOptions {
  /** 0: nobody waits. */
  readonly delayMs: () => number
  readonly stats: () => { readonly activeCount: number; readonly activeCountMax: number }
  readonly clock: Clock
}

export class InFlowDelay {
  readonly #options: InFlowDelayOptions
  /** When each client may have its next answer, by the monotonic clock. */
  readonly #nextAtMs = new Map<string, number>()
  #lookedAtMs = -Infinity
  #isFull = false

  constructor(options: InFlowDelayOptions) {
    this.#options = options
  }

  /** Settles when the client may have its answer. @param address '' for what comes over no
   * network: it never waits */
  async turn(address: string): Promise<void> {
    const { delayMs, clock } = this.#options
    const ms = delayMs()
    const nowMs = clock.monotonicMs()
    if (ms === 0 || address === '' || !this.#looksFull(nowMs)) return
    const client = clientNetwork(address)
    const atMs = Math.max(this.#nextAtMs.get(client) ?? 0, nowMs)
    this.#nextAtMs.delete(client)
    this.#nextAtMs.set(client, atMs + ms)
    const [oldest] = this.#nextAtMs.keys()
    if (this.#nextAtMs.size > clientsMax && oldest !== undefined) this.#nextAtMs.delete(oldest)
    // Sessions of one client share its turns, and wait for no more than ten of them.
    const waitMs = Math.min(atMs - nowMs, 10 * ms)
    if (waitMs > 0) await pause(clock, waitMs, undefined)
  }

  #looksFull(nowMs: number): boolean {
    if (nowMs - this.#lookedAtMs < lookMs) return this.#isFull
    const { activeCount, activeCountMax } = this.#options.stats()
    this.#lookedAtMs = nowMs
    const isFull = activeCount >= activeCountMax
    if (this.#isFull && !isFull) this.#nextAtMs.clear()
    this.#isFull = isFull
    return isFull
  }
}
