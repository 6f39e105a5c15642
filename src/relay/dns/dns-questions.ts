/** Asks the DNS, and sorts the answers: records, none, no such name, or unknown.
 * Invariant: every question settles within its time, and all settle at once when no attempt waits
 * for them any more. A record is missing only if the DNS itself says so. If no server could be
 * asked, or none knew, the answer is `unknown`, and no reason to give up mail. */
import { Resolver } from 'node:dns/promises'
import { isError } from '../../base/realms.js'
import type { Clock } from '../../base/clock.js'

/** As much of Node's `dns.promises.Resolver` as mail needs: with its answers, and the codes
 * of its errors. */
export interface MxResolver {
  resolveMx(domain: string): Promise<readonly { readonly exchange: string; readonly priority: number }[]>
  resolve4(host: string): Promise<readonly string[]>
  resolve6(host: string): Promise<readonly string[]>
  /** For MTA-STS alone. */
  resolveTxt?(name: string): Promise<readonly (readonly string[])[]>
}

export type DnsAnswer<T> =
  | { readonly kind: 'records'; readonly records: readonly T[] }
  /** The name has no such record. */
  | { readonly kind: 'no records' }
  /** There is no such name. */
  | { readonly kind: 'no name' }
  | { readonly kind: 'unknown'; readonly reason: string }

/** Milliseconds for one try at one server, and tries at each. */
const tryMs = 3000
const tries = 2

/** As /etc/resolv.conf has it now: c-ares reads it when a resolver is made (64 µs) and never
 * again. */
export const systemResolver = (): Resolver => new Resolver({ timeout: tryMs, tries })

interface QuestionsOptions {
  /** Default: the system's. */
  readonly resolver?: MxResolver | undefined
  readonly clock: Clock
  /** For each question. */
  readonly timeoutMs: number
}

/** Asks what an attempt wants to know; when that is over nothing of it is left. @param signal when
 * it is aborted nobody waits any more */
export async function withQuestions<T>(
  { resolver, clock, timeoutMs }: QuestionsOptions,
  signal: AbortSignal,
  ask: (resolver: MxResolver, questions: DnsQuestions) => Promise<T>,
): Promise<T> {
  // One of ours is made for each attempt: it is made of /etc/resolv.conf, which changes. To share
  // one among the attempts of a second would take an eighth of the relay's processor time less
  // (mail to a thousand domains), but a resolver learns from its answers:
  //    1. A name server answers most questions in a millisecond: from then on a try is given up
  //       after 250 ms, and not after `tryMs`.
  //    2. One domain takes 700 ms to look up, once. Its mail is put off.
  //    3. The server counts as failing: all are asked of the next one of /etc/resolv.conf, which
  //       does not know internal domains. Their mail is returned.
  const system = resolver === undefined ? systemResolver() : undefined
  const questions = new DnsQuestions(clock, timeoutMs)
  const abandon = (): void => questions.abandon()
  signal.addEventListener('abort', abandon, { once: true })
  try {
    return await ask(resolver ?? system!, questions)
  } finally {
    signal.removeEventListener('abort', abandon)
    abandon()
    // What is still asked would keep the process alive.
    system?.cancel()
  }
}

/** EBADNAME is a name that no DNS message can carry. */
const absent: Readonly<Record<string, 'no records' | 'no name'>> = {
  ENODATA: 'no records',
  ENOTFOUND: 'no name',
  EBADNAME: 'no name',
}

/** Of one attempt. */
export class DnsQuestions {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #open = new Set<() => void>()
  #isAbandoned = false

  /** @param timeoutMs for each question */
  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** @param what names the question where it has no answer */
  ask<T>(what: string, ask: () => Promise<readonly T[]>): Promise<DnsAnswer<T>> {
    return new Promise((resolve) => {
      const end = (answer: DnsAnswer<T>): void => {
        timer.cancel()
        this.#open.delete(abandon)
        resolve(answer)
      }
      const abandon = (): void => end({ kind: 'unknown', reason: `${what}: the attempt was abandoned` })
      const timer = this.#clock.after(this.#timeoutMs, () =>
        end({ kind: 'unknown', reason: `${what}: no answer in time` }),
      )
      this.#open.add(abandon)
      if (this.#isAbandoned) abandon()
      else void answerOf(what, ask).then(end)
    })
  }

  /** No timer is left. */
  abandon(): void {
    this.#isAbandoned = true
    for (const abandon of this.#open) abandon()
  }
}

async function answerOf<T>(what: string, ask: () => Promise<readonly T[]>): Promise<DnsAnswer<T>> {
  try {
    const records = await ask()
    return records.length === 0 ? { kind: 'no records' } : { kind: 'records', records }
  } catch (error) {
    const code = isError(error) && 'code' in error ? String(error.code) : ''
    const kind = Object.hasOwn(absent, code) ? absent[code] : undefined
    return kind === undefined ? { kind: 'unknown', reason: `${what}: ${code || String(error)}` } : { kind }
  }
}
