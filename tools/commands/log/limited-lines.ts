/** Limits the lines of the log that a client causes in a minute; one more line counts the rest.
 * Invariant: no line is left out without being counted, and memory holds at most `clientsMax`
 * clients. Those beyond share one place. */
import { clientNetwork } from '../../../src/relay/smtp-in/client-networks.js'

export const linesMax: number = 20
export const clientsMax: number = 1000
export const periodMs: number = 60_000
const others = 'others'

interface Count {
  told: number
  leftOut: number
}

export class LimitedLines {
  readonly #tellLeftOut: (client: string, count: number) => void
  readonly #counts = new Map<string, Count>()

  /** @param tellLeftOut called at the end of a minute for each client, an address or an IPv6 /64,
   * with lines left out */
  constructor(tellLeftOut: (client: string, count: number) => void) {
    this.#tellLeftOut = tellLeftOut
  }

  /** @param address '' if unknown */
  line(address: string, write: () => void): void {
    const count = this.#countOf(address === '' ? others : clientNetwork(address))
    if (count.told >= linesMax) count.leftOut++
    else {
      count.told++
      write()
    }
  }

  #countOf(client: string): Count {
    const known = this.#counts.get(client)
    if (known !== undefined) return known
    if (this.#counts.size >= clientsMax && client !== others) return this.#countOf(others)
    if (this.#counts.size === 0) setTimeout(() => this.#endPeriod(), periodMs).unref()
    const count = { told: 0, leftOut: 0 }
    this.#counts.set(client, count)
    return count
  }

  #endPeriod(): void {
    for (const [client, { leftOut }] of this.#counts) if (leftOut > 0) this.#tellLeftOut(client, leftOut)
    this.#counts.clear()
  }
}
