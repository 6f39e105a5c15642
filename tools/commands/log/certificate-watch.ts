/** Tells the log when a certificate that clients are shown is out of its time, or soon will be.
 * Invariant: a certificate has a line for each state that is wrong: when it is read, and when the
 * state begins while the relay runs. The wall clock may be set, so it is looked at each hour. */
import type { Logger } from 'pino'
import { EarliestTimer, type Clock } from '../../../src/base/clock.js'

/** Milliseconds since 1970. */
export interface Validity {
  readonly fromMs: number
  readonly untilMs: number
}

type State = 'early' | 'valid' | 'soon' | 'expired'

const lookMs = 3_600_000

export class CertificateWatch {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #soonMs: number
  readonly #timer: EarliestTimer
  /** By the option that names its file. */
  #shown: ReadonlyMap<string, Validity> = new Map()
  /** The last one that was told, by option. */
  readonly #told = new Map<string, State>()

  /** @param soonMs how long before its end a certificate should have been renewed */
  constructor(log: Logger, clock: Clock, soonMs: number) {
    this.#log = log
    this.#clock = clock
    this.#soonMs = soonMs
    this.#timer = new EarliestTimer(clock, () => this.#look())
  }

  /** These are shown from now on. @param shown by the option that names each one's file */
  read(shown: ReadonlyMap<string, Validity>): void {
    this.#shown = shown
    this.#told.clear()
    this.#look()
  }

  stop(): void {
    this.#timer.at(Infinity, 0)
  }

  #look(): void {
    const nowMs = this.#clock.wallMs()
    let nextMs = Infinity
    for (const [option, validity] of this.#shown) {
      const { fromMs, untilMs } = validity
      const state = this.#stateOf(validity, nowMs)
      if (state !== this.#told.get(option)) this.#tell(option, state, validity)
      this.#told.set(option, state)
      const changes = [fromMs, untilMs - this.#soonMs, untilMs].filter((atMs) => atMs > nowMs)
      nextMs = Math.min(nextMs, nowMs + lookMs, ...changes)
    }
    this.#timer.at(nextMs, nowMs)
  }

  #stateOf({ fromMs, untilMs }: Validity, nowMs: number): State {
    if (nowMs >= untilMs) return 'expired'
    if (nowMs < fromMs) return 'early'
    return nowMs >= untilMs - this.#soonMs ? 'soon' : 'valid'
  }

  #tell(option: string, state: State, { fromMs, untilMs }: Validity): void {
    if (state === 'expired')
      this.#log.warn({ option, expiredAt: dateOf(untilMs) }, 'the certificate has expired')
    if (state === 'early')
      this.#log.warn({ option, validFrom: dateOf(fromMs) }, 'the certificate is not valid yet')
    if (state === 'soon')
      this.#log.warn({ option, expiresAt: dateOf(untilMs) }, 'the certificate expires soon')
  }
}

/** To the second, where it ends with one. */
export const dateOf = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')
