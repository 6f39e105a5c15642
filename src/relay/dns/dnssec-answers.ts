/** The DNS answers of one attempt, and the proof that DNSSEC gives for each.
 * Invariant: an answer is proven when a trusted server says so of the asked name and of each alias
 * that it leads through. To mail-hosts.ts it is a resolver as any other (dns-questions.ts). */
import type { DnsClient } from './dns-client.js'
import type { DnsData, DnsReply, DnsType } from './dns-message.js'
import type { MxResolver } from './dns-questions.js'

/** Of a name that has records. */
export type Proof = Pick<DnsReply<unknown>, 'owner' | 'isProven'>

export class DnssecAnswers implements MxResolver {
  readonly #client: DnsClient
  /** Of the domain, when it has mail hosts. */
  mailHosts: Proof | undefined
  readonly #addresses = new Map<string, Proof>()

  constructor(client: DnsClient) {
    this.#client = client
  }

  async resolveMx(domain: string): ReturnType<MxResolver['resolveMx']> {
    const reply = await this.ask('MX', domain)
    if (reply.kind === 'records') this.mailHosts = reply
    return recordsOf(reply).map(({ exchange, preference = 0 }) => ({ exchange, priority: preference }))
  }

  resolve4(host: string): Promise<readonly string[]> {
    return this.#addressesOf('A', host)
  }

  resolve6(host: string): Promise<readonly string[]> {
    return this.#addressesOf('AAAA', host)
  }

  /** Of its addresses; undefined where none were found. */
  addresses(host: string): Proof | undefined {
    return this.#addresses.get(host)
  }

  ask<T extends DnsType>(type: T, name: string): Promise<DnsReply<DnsData[T]>> {
    return this.#client.ask(type, name)
  }

  async #addressesOf(type: 'A' | 'AAAA', host: string): Promise<readonly string[]> {
    const reply = await this.ask(type, host)
    // Of two kinds of addresses one that is proven is enough: the host's zone is signed, and can be
    // asked for TLSA records.
    if (reply.kind === 'records' && this.#addresses.get(host)?.isProven !== true)
      this.#addresses.set(host, reply)
    return recordsOf(reply)
  }
}

function recordsOf<T>({ kind, records }: DnsReply<T>): readonly T[] {
  if (kind === 'no name') throw Object.assign(new Error('there is no such name'), { code: 'ENOTFOUND' })
  return records
}
