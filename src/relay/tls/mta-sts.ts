/** The MTA-STS policies of domains (RFC 8461), fetched and remembered for delivery.
 * Invariant: a policy that was read once holds until its `max_age` is over, whatever happens to
 * record and web server meanwhile, or until another one is read; a domain of which none can be read
 * has none. An attempt waits at most `timeoutMs` for one, and not for any other domain: a question
 * is not asked again for `againMs`, whatever the answer was. All of it is in memory: a new process
 * knows nothing.
 *
 * A policy is read when the record has another id than before, and once a day while mail goes
 * there, so that it is renewed before it ends. */
import { isIP, type LookupFunction } from 'node:net'
import { systemClock, type Clock, type Timer } from '../../base/clock.js'
import { withQuestions, type DnsAnswer, type DnsQuestions, type MxResolver } from '../dns/dns-questions.js'
import { policyText, type StsWeb } from './mta-sts-web.js'
import { stsIdIn, stsPolicyIn, type StsPolicy } from './mta-sts-policy.js'
import { familiesUsed, sourceAddressesOf, type SourceAddresses } from '../dns/source-addresses.js'

/** Milliseconds. */
const againMs = 300_000
const refreshMs = 86_400_000

export interface MtaStsOptions {
  /** As of `mxTransport`. */
  readonly resolver?: MxResolver | undefined
  readonly clock?: Clock | undefined
  /** Milliseconds for record and policy together; default 10 000. */
  readonly timeoutMs?: number | undefined
  /** Bound of remembered policies, and of asked domains; default 10 000; the least recently used
   * one is dropped. */
  readonly domainsMax?: number | undefined
  /** Characters of the names in those policies, all together; default 8 Mi: one policy
   * may have 64 KiB. */
  readonly charactersMax?: number | undefined
  /** As of `mxTransport`. Web servers are reached over the families of these, from any address. */
  readonly sourceAddresses?: readonly string[] | undefined
  /** For tests. */
  readonly web?: StsWeb | undefined
}

/** The addresses of one family wait so long for those of the other: a DNS server that never answers
 * for a family that the host lacks would use up the time for the policy. RFC 8305 §3 waits less,
 * for a user at a screen. */
const otherFamilyMs = 1000
/** Addresses of a web server that are tried, of each family. */
const addressesMax = 5

interface Known {
  readonly policy: StsPolicy
  readonly id: string
  /** When it is read again though its id is the same, and when it holds no more. */
  readonly renewAtMs: number
  readonly endsAtMs: number
  readonly characters: number
}

/** Under way. */
interface Asking {
  readonly controller: AbortController
  readonly ended: Promise<void>
}

export class MtaSts {
  readonly #options: MtaStsOptions
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #domainsMax: number
  readonly #charactersMax: number
  readonly #sources: SourceAddresses
  /** The one that was used last stands last. */
  readonly #known = new Map<string, Known>()
  /** When they were asked; the last one stands last. */
  readonly #askedAtMs = new Map<string, number>()
  readonly #asking = new Map<string, Asking>()
  #characters = 0

  constructor(options: MtaStsOptions = {}) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#timeoutMs = options.timeoutMs ?? 10_000
    this.#domainsMax = options.domainsMax ?? 10_000
    this.#charactersMax = options.charactersMax ?? 8 << 20
    this.#sources = sourceAddressesOf(options.sourceAddresses)
  }

  /** The policy that holds now, of whatever mode. @param domain in ASCII and lower case
   * @param signal of the attempt: when it is aborted nobody waits any more */
  async policyOf(domain: string, signal: AbortSignal): Promise<StsPolicy | undefined> {
    const askedAtMs = this.#askedAtMs.get(domain) ?? -Infinity
    if (this.#clock.monotonicMs() >= askedAtMs + againMs) await endedOrAborted(this.#ask(domain), signal)
    const known = this.#known.get(domain)
    if (known === undefined) return undefined
    this.#forget(domain)
    if (this.#clock.monotonicMs() >= known.endsAtMs) return undefined
    this.#remember(domain, known)
    return known.policy
  }

  /** Ends what is under way; what is known stays. */
  close(): void {
    const all = [...this.#asking.values()]
    this.#asking.clear()
    for (const { controller } of all) controller.abort()
  }

  /** All who want to know share one asking. */
  #ask(domain: string): Promise<void> {
    const underWay = this.#asking.get(domain)
    if (underWay !== undefined) return underWay.ended
    const controller = new AbortController()
    const ended = this.#asked(domain, controller.signal).then(() => {
      // Nobody knows how it would have ended.
      if (this.#asking.get(domain) !== asking) return
      this.#asking.delete(domain)
      this.#askedAtMs.delete(domain)
      this.#askedAtMs.set(domain, this.#clock.monotonicMs())
      dropFirst(this.#askedAtMs, this.#domainsMax)
    })
    const asking = { controller, ended }
    this.#asking.set(domain, asking)
    const timer = this.#clock.after(this.#timeoutMs, () => controller.abort())
    void ended.then(() => timer.cancel())
    return ended
  }

  #asked(domain: string, signal: AbortSignal): Promise<void> {
    const { resolver } = this.#options
    // The web server keeps the other half: a policy that is known is renewed without a record.
    const timeoutMs = this.#timeoutMs / 2
    return withQuestions({ resolver, clock: this.#clock, timeoutMs }, signal, (dns, questions) =>
      this.#askedOf(domain, dns, questions, signal),
    )
  }

  async #askedOf(
    domain: string,
    resolver: MxResolver,
    questions: DnsQuestions,
    signal: AbortSignal,
  ): Promise<void> {
    const name = `_mta-sts.${domain}`
    const answer = await questions.ask(`TXT of ${name}`, async () => resolver.resolveTxt!(name))
    const found = answer.kind === 'records' ? stsIdIn(answer.records) : undefined
    const known = this.#known.get(domain)
    const nowMs = this.#clock.monotonicMs()
    // An attacker that suppresses the record would otherwise have the policy run out, and then get
    // the mail. RFC 8461 §10.2
    const id = found ?? (known !== undefined && nowMs < known.endsAtMs ? known.id : undefined)
    const isKnown = known !== undefined && known.id === id && nowMs < known.renewAtMs
    if (id !== undefined && !isKnown) {
      const text = await policyText(
        domain,
        addressesBy(resolver, questions, this.#clock, this.#sources),
        signal,
        this.#options.web,
      )
      const policy = text === undefined ? undefined : stsPolicyIn(text)
      if (policy !== undefined) this.#read(domain, id, policy)
    }
  }

  #read(domain: string, id: string, policy: StsPolicy): void {
    const nowMs = this.#clock.monotonicMs()
    // One that ended before it is asked for again would be none meanwhile.
    const lifeMs = Math.max(policy.maxAgeMs, 2 * againMs)
    this.#forget(domain)
    this.#remember(domain, {
      policy,
      id,
      renewAtMs: nowMs + Math.min(refreshMs, lifeMs / 2),
      endsAtMs: nowMs + lifeMs,
      characters: policy.mx.join('').length,
    })
  }

  #remember(domain: string, known: Known): void {
    this.#known.set(domain, known)
    this.#characters += known.characters
    for (const [first] of this.#known) {
      if (this.#known.size <= this.#domainsMax && this.#characters <= this.#charactersMax) break
      this.#forget(first)
      // Or mail would go there without a policy until it is asked again.
      this.#askedAtMs.delete(first)
    }
  }

  #forget(domain: string): void {
    this.#characters -= this.#known.get(domain)?.characters ?? 0
    this.#known.delete(domain)
  }
}

function dropFirst(map: Map<string, number>, countMax: number): void {
  for (const [first] of map) {
    if (map.size <= countMax) break
    map.delete(first)
  }
}

const endedOrAborted = (ended: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    if (signal.aborted) return done()
    signal.addEventListener('abort', done)
    void ended.then(done)
  })

/** As Node's `lookup`, by the same DNS as everything else. */
const addressesBy =
  (resolver: MxResolver, questions: DnsQuestions, clock: Clock, sources: SourceAddresses): LookupFunction =>
  (name, options, done) => {
    const asked = familiesUsed(sources).map((family) =>
      family === 6
        ? questions.ask(`AAAA of ${name}`, () => resolver.resolve6(name))
        : questions.ask(`A of ${name}`, () => resolver.resolve4(name)),
    )
    void inTime(asked, clock).then((addresses) => {
      const found = addresses.map((address) => ({ address, family: isIP(address) }))
      const [first] = found
      if (first === undefined) done(new Error(`no address of ${name}`), '', 0)
      else if (options.all === true) done(null, found)
      else done(null, first.address, first.family)
    })
  }

/** What is known when both have answered, or one has had enough of waiting for the other. */
function inTime(asked: readonly Promise<DnsAnswer<string>>[], clock: Clock): Promise<string[]> {
  return new Promise((resolve) => {
    const found: string[][] = []
    let openCount = asked.length
    let timer: Timer | undefined
    const done = (): void => {
      timer?.cancel()
      resolve(found.flat())
    }
    for (const [index, one] of asked.entries())
      void one.then((answer) => {
        if (answer.kind === 'records') {
          found[index] = answer.records.slice(0, addressesMax)
          timer ??= clock.after(otherFamilyMs, done)
        }
        openCount--
        if (openCount === 0) done()
      })
  })
}
