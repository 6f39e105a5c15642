/** ETRN (RFC 1985): a client asks for the mail that waits for a domain.
 * Invariant: only clients that may relay ask; a request is answered at once, and mail leaves by the
 * usual limits of a flush. At most `requestsMax` domains are flushed at a time.
 * Why not strangers: a request starts deliveries, and its answer would say which mail waits. */
import { comparableDomain } from '../base/mail-address.js'

/** Starts the deliveries; nobody waits for them. */
export type StartQueue = (domain: string, client: { readonly address: string; readonly helo: string }) => void

export interface EtrnAnswer {
  readonly code: number
  readonly text: string
}

const domainPattern = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i
const domainLengthMax = 253

/** @param line `ETRN example.net` @returns the domain, or why there is none */
export function etrnDomain(line: string): string | EtrnAnswer {
  const [, name = '', more] = /^ETRN\s+(\S+)\s*(.*)$/i.exec(line) ?? []
  if (name === '' || more !== '') return { code: 501, text: '5.5.4 ETRN wants one domain' }
  if (name.startsWith('@') || name.startsWith('#'))
    return { code: 501, text: '5.5.4 ETRN of a whole domain tree, or of a queue, is not here' }
  const domain = comparableDomain(name)
  if (domain.length > domainLengthMax || !domainPattern.test(domain))
    return { code: 501, text: '5.5.4 ETRN wants a domain' }
  return domain
}

const requestsMax = 100

/** Flushes one domain once at a time, however many clients ask. */
export class QueueStarts {
  readonly #flush: (domain: string) => Promise<unknown>
  readonly #underWay = new Set<string>()

  /** @param flush settles when the last message has been started, or it cannot be carried out */
  constructor(flush: (domain: string) => Promise<unknown>) {
    this.#flush = flush
  }

  /** @returns whether it was begun: not when it is under way, or too many are */
  start(domain: string): boolean {
    if (this.#underWay.has(domain) || this.#underWay.size >= requestsMax) return false
    this.#underWay.add(domain)
    const done = (): void => void this.#underWay.delete(domain)
    this.#flush(domain).then(done, done)
    return true
  }
}
