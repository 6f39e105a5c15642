/** Ends the relay at SIGTERM or SIGINT.
 * Invariant: it stops by a crash, as always, and nothing is written for it. Before that its ports
 * are closed, no delivery begins, and those under way get `--stop-timeout` to end, so that the next
 * start does not make them again. Then clients get their answers, so that they do not send their
 * mail again. A second signal crashes it at once. */
import type { Logger } from 'pino'
import { waitMsMax } from '../../../src/base/options.js'
import type { Queue } from '../../../src/index.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { parseDurationOption } from '../cli/values.js'

/** For the last answers to clients. */
const farewellMs = 2000

/** @throws UsageError */
export function stopTimeoutMsOf(args: Arguments): number {
  const timeoutMs = parseDurationOption('stop-timeout', args.one('stop-timeout') ?? '10s')
  if (timeoutMs > waitMsMax) throw new UsageError('--stop-timeout is at most 1d')
  return timeoutMs
}

export class Stopping {
  readonly #queue: Pick<Queue, 'drain' | 'crash'>
  readonly #log: Logger
  readonly #timeoutMs: number
  readonly #closers: (() => unknown)[] = []
  #farewell: () => Promise<void> = () => Promise.resolve()
  #isStopping = false

  constructor(queue: Pick<Queue, 'drain' | 'crash'>, log: Logger, timeoutMs: number) {
    this.#queue = queue
    this.#log = log
    this.#timeoutMs = timeoutMs
  }

  /** From now on the signals are heard. */
  begin(): void {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop(signal))
  }

  /** @param close a port that is closed first; at once, when the relay is stopping already. What it
   * promises is waited for as deliveries are */
  beforeThat(close: () => unknown): void {
    if (this.#isStopping) close()
    else this.#closers.push(close)
  }

  /** @param farewell behind the deliveries: ends the sessions of clients */
  lastly(farewell: () => Promise<void>): void {
    this.#farewell = farewell
  }

  #stop(signal: string): void {
    if (this.#isStopping || this.#timeoutMs === 0) {
      this.#log.info({ signal }, 'ended at once')
      return this.#end()
    }
    this.#isStopping = true
    this.#log.info({ signal }, 'stopping: the ports are closed, and no delivery begins')
    const closed = Promise.all(this.#closers.map((close) => close()))
    void this.#drain(closed).then(() => this.#end())
  }

  async #drain(closed: Promise<unknown>): Promise<void> {
    const abort = new AbortController()
    const late = new Promise((resolve) => abort.signal.addEventListener('abort', resolve))
    const timer = setTimeout(() => abort.abort(), this.#timeoutMs)
    const { isDrained, underWayCount } = await this.#queue.drain({ signal: abort.signal })
    await Promise.race([closed, late])
    clearTimeout(timer)
    if (isDrained) this.#log.info('stopped: no delivery was under way')
    else
      this.#log.warn(
        { underWayCount },
        'stopped before its deliveries had ended: the next start repeats them',
      )
    await this.#bidFarewell()
  }

  async #bidFarewell(): Promise<void> {
    const late = new Promise((resolve) => setTimeout(resolve, farewellMs))
    await Promise.race([this.#farewell(), late])
  }

  #end(): void {
    this.#queue.crash()
    process.exit(0)
  }
}
