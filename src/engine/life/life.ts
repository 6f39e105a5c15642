/** One life of a queue: from recovery to the crash that ends it.
 * Invariant: it ends once. What asks after the end gets QUEUE_CRASHED, and nothing is
 * written any more. */
import type { Clock, Timer } from '../../base/clock.js'
import { WaybillError } from '../../errors.js'
import { EarlierSettings, nowsSince, type EarlierSetting } from './earlier-settings.js'
import { OwnContext } from './own-context.js'

export class Life {
  readonly #onEnd: (error: unknown) => void
  readonly #waiting = new Set<(error: unknown) => void>()
  readonly #context: OwnContext
  #ended: WaybillError | undefined

  constructor(onEnd: (error: unknown) => void, context: OwnContext) {
    this.#onEnd = onEnd
    this.#context = context
  }

  get isOver(): boolean {
    return this.#ended !== undefined
  }

  /** @throws WaybillError QUEUE_CRASHED */
  check(): void {
    if (this.#ended !== undefined) throw this.#ended
  }

  /** The end. @param error why; undefined when the owner crashed it */
  readonly end = (error: unknown): void => {
    if (this.#ended !== undefined) return
    this.#ended = new WaybillError('QUEUE_CRASHED', 'the queue has crashed', {}, error)
    try {
      this.#onEnd(error)
    } finally {
      // Also when a listener to the end throws: waiting callers get nothing else.
      for (const reject of this.#waiting) reject(this.#ended)
    }
  }

  /** What the work comes to, or the end of this life: calls that are under way then may never
   * settle.
   * @throws WaybillError QUEUE_CRASHED by rejection */
  orEnd<T>(work: Promise<T>): Promise<T> {
    if (this.#ended !== undefined) {
      // It ends with this life, or never: nobody waits for it any more.
      work.catch(() => undefined)
      return Promise.reject(this.#ended)
    }
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject)
      const done = (settle: () => void): void => {
        this.#waiting.delete(reject)
        settle()
      }
      work.then(
        (value) => done(() => resolve(value)),
        (error: unknown) => done(() => reject(error)),
      )
    })
  }

  /** The error for waiting callers. */
  get reason(): WaybillError {
    return this.#ended ?? new WaybillError('QUEUE_CRASHED', 'the queue has crashed')
  }

  /** Does a step that nobody called: what it throws is the end of this life, not of whatever event
   * loop turn it ran in. It runs in the life's context. After the end it is not done. */
  guard(step: () => void): void {
    if (this.isOver) return
    try {
      this.#context.run(step)
    } catch (error) {
      this.end(error)
    }
  }

  /** Runs work that nobody waits for. Its failure is the end of this life, unless that came
   * first. */
  run(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!this.isOver) this.end(error)
    })
  }
}

/** A clock that is wrong by more than this, 30 days, is not taken for one that drifts, or for a
 * queue that was closed. */
export const clockErrorMinMs = 2_592_000_000

/** The clock of one life.
 * Invariant: no timer outlives its life, so none keeps the process alive. */
export class LifeClock implements Clock {
  readonly #clock: Clock
  readonly #context: OwnContext
  readonly #timers = new Set<Timer>()
  /** Wall time less monotonic time, when the life began. */
  readonly #wallOffsetMs: number
  readonly #settings = new EarlierSettings()
  #isOver = false

  /** @param writtenAtMs when the life before wrote last, milliseconds since 1970; 0: there was
   * none */
  constructor(clock: Clock, writtenAtMs: number, context: OwnContext = new OwnContext()) {
    this.#clock = clock
    this.#context = context
    const wallMs = clock.wallMs()
    const isBelieved = writtenAtMs === 0 || Math.abs(wallMs - writtenAtMs) < clockErrorMinMs
    this.#wallOffsetMs = (isBelieved ? wallMs : writtenAtMs) - clock.monotonicMs()
  }

  /** The wall time that would be now, had nobody set the clock since the life began; milliseconds
   * since 1970. Where the clock was more than 30 days away from the end of the life before, time
   * goes on from there: a longer pause cannot be told from a wrong clock. */
  unsetWallMs(): number {
    return Math.floor(this.#wallOffsetMs + this.#clock.monotonicMs())
  }

  wallMs(): number {
    const wallMs = this.#clock.wallMs()
    this.#settings.note(wallMs, this.#clock)
    return wallMs
  }

  earlierSettings(): readonly EarlierSetting[] {
    return this.#settings.at(this.#clock.monotonicMs())
  }

  /** @see nowsSince */
  nowsSince(shownMs: number): number[] {
    return nowsSince(shownMs, this.earlierSettings())
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  /** After the end of the life the callback never runs; else in the life's context, whatever clock
   * it is. */
  after(delayMs: number, callback: () => void): Timer {
    if (this.#isOver) return over
    const due = (): void => {
      this.#timers.delete(kept)
      this.#context.run(callback)
    }
    // The system's timers keep the context in which they are made.
    const timer = this.#context.run(() => this.#clock.after(delayMs, due))
    const kept: Timer = {
      cancel: () => {
        this.#timers.delete(kept)
        timer.cancel()
      },
    }
    this.#timers.add(kept)
    return kept
  }

  soon(callback: () => void): void {
    this.#clock.soon(() => this.#context.run(callback))
  }

  /** The end of the life. */
  stop(): void {
    this.#isOver = true
    for (const timer of this.#timers) timer.cancel()
  }
}

const over: Timer = { cancel: () => undefined }
