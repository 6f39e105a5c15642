/** The ring of transports, in the order of their turns.
 * Invariant: a transport that was taken comes last; those passed on the way stay, in their order,
 * just before it. */
import type { Transport } from './transport.js'

/** Requests of one transport that may wait for a delivery agent. */
const pendingMax = 2

export class Rotation {
  readonly #ring: Transport[] = []
  #head = 0

  /** A new transport is the next in turn. */
  add(transport: Transport): void {
    this.#ring.splice(this.#head, 0, transport)
  }

  get size(): number {
    return this.#ring.length
  }

  *[Symbol.iterator](): Generator<Transport> {
    for (let i = 0; i < this.#ring.length; i++) yield this.#ring[(this.#head + i) % this.#ring.length]!
  }

  /** The next transport that has an entry to select and a process for it. */
  takeFree(): Transport | undefined {
    const ring = this.#ring
    const length = ring.length
    for (let i = 0, at = this.#head; i < length; i++) {
      const transport = ring[at]!
      at = at + 1 === length ? 0 : at + 1
      if (!transport.isSelectable) continue
      this.#head = at
      return transport
    }
    return undefined
  }

  /** The next transport that has more entries to select than requests that wait. */
  takeForRequest(): Transport | undefined {
    const ring = this.#ring
    for (let i = 0; i < ring.length; i++) {
      const at = (this.#head + i) % ring.length
      const transport = ring[at]!
      if (transport.dead !== undefined || transport.pending >= pendingMax) continue
      if (!transport.hasOpen(transport.pending + 1)) continue
      this.#head = (at + 1) % ring.length
      return transport
    }
    return undefined
  }
}
