/** A simulated world: one seed, one clock, one order of events.
 * Invariant: between two events every promise callback has run, and nothing but an event changes
 * anything; so the seed is the run.
 *
 * Why `process.nextTick`: called from a promise callback, it runs when no promise callback is left,
 * at 0.3 µs a turn (setImmediate 1.2 µs, a message channel 1.0 µs). It never returns to the
 * system's event loop, so setImmediate is used every `breathEvents` events and before time passes,
 * as often as other code (libraries that cut long work) asks for it. */
import { InvariantError } from '../../base/assert.js'
import type { Timer, Clock } from '../../base/clock.js'
import { seededPrng, type Prng } from '../../base/prng.js'
import { EventQueue, type EventOrder } from './event-queue.js'

export interface WorldOptions {
  readonly seed: number
  /** Default 'seeded'. */
  readonly order?: EventOrder
  /** Wall time at the start, milliseconds since 1970. */
  readonly wallStartMs?: number
  /** How far a timer may overtake calls under way, milliseconds: a longer wait for a call gets its
   * answer. Default ten minutes. */
  readonly overtakeMsMax?: number
  /** Called when time has passed while nothing was under way, before the timer that ended it. */
  readonly onIdle?: (forMs: number) => void
}

export interface RunOptions {
  /** Monotonic instant behind which no timer runs. Default: none, run until no event is left. */
  readonly untilMs?: number
  /** @throws InvariantError when a run needs more: something waits for itself. Default 1 000
   * 000. */
  readonly eventsMax?: number
}

const breathEvents = 4096
/** Some programs, test runners among them, always have something left. */
const breathsMax = 16
/** How often a run without events waits for another one. */
const lastRestsMax = 4
const wallStartDefaultMs = 1_800_000_000_000
const eventsMaxDefault = 1_000_000

export class SimWorld {
  readonly seed: number
  readonly order: EventOrder
  readonly clock: SimClock
  readonly #events: EventQueue
  readonly #prng: Prng
  readonly #onIdle: WorldOptions['onIdle']
  #stopped = false
  #eventCount = 0

  constructor(options: WorldOptions) {
    this.seed = options.seed
    this.order = options.order ?? 'seeded'
    this.#prng = seededPrng(options.seed)
    this.#events = new EventQueue(this.order, this.fork(), options.overtakeMsMax)
    this.clock = new SimClock(this, options.wallStartMs ?? wallStartDefaultMs)
    this.#onIdle = options.onIdle
  }

  /** Milliseconds since this world began. */
  get nowMs(): number {
    return this.#events.nowMs
  }

  get stopped(): boolean {
    return this.#stopped
  }

  /** Events performed so far. */
  get eventCount(): number {
    return this.#eventCount
  }

  /** One generator for each part, so that draws of one part do not shift the others. */
  fork(): Prng {
    return seededPrng(this.#prng.uint32())
  }

  /** An event that may happen from now on, in any order. @param makesDurable as for
   * `EventQueue.enqueue` */
  enqueue(callback: () => void, makesDurable = false): void {
    this.#events.enqueue(callback, makesDurable)
  }

  at(dueMs: number, callback: () => void): Timer {
    return this.#events.at(dueMs, callback)
  }

  /** A power loss or a kill: no event happens in this world any more, and nothing settles. */
  stop(): void {
    this.#stopped = true
  }

  /** Performs events until none is left up to `untilMs`, or the world is stopped. */
  async run(options: RunOptions = {}): Promise<void> {
    const untilMs = options.untilMs ?? Number.POSITIVE_INFINITY
    await this.#perform(options.eventsMax ?? eventsMaxDefault, untilMs, () => false)
    if (Number.isFinite(untilMs) && !this.#stopped) this.#events.nowMs = Math.max(this.nowMs, untilMs)
  }

  /** Performs events until `promise` settles, and settles like it.
   * @throws InvariantError when nothing is left to happen before that, or the world is stopped */
  async settle<T>(promise: Promise<T>, options: RunOptions = {}): Promise<T> {
    let settled = false
    const note = (): void => {
      settled = true
    }
    promise.then(note, note)
    await this.#perform(
      options.eventsMax ?? eventsMaxDefault,
      options.untilMs ?? Number.POSITIVE_INFINITY,
      () => settled,
    )
    if (!settled)
      throw new InvariantError(this.#stopped ? 'the world was stopped' : 'nothing is left to happen')
    return promise
  }

  async #perform(eventsMax: number, untilMs: number, done: () => boolean): Promise<void> {
    const eventCountMax = this.#eventCount + eventsMax
    await turn()
    let restsLeft = lastRestsMax
    while (!this.#stopped && !done()) {
      let isCut = false
      if (!this.#events.hasReady) {
        isCut = await rest()
        if (done()) return
      }
      const idleFromMs = this.#events.hasReady ? Infinity : this.nowMs
      const event = this.#events.next(untilMs)
      if (this.nowMs > idleFromMs) this.#onIdle?.(this.nowMs - idleFromMs)
      if (event === undefined) {
        // Pending work of libraries may bring more.
        if (isCut && restsLeft-- > 0) continue
        return
      }
      restsLeft = lastRestsMax
      if (this.#eventCount === eventCountMax)
        throw new InvariantError(`a run ends within ${eventsMax} events`)
      this.#eventCount++
      event()
      await (this.#eventCount % breathEvents === 0 ? breath() : turn())
    }
  }
}

const turn = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))
const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Runs other code's pending turns of the event loop.
 * @returns whether there were more than it waits for */
async function rest(): Promise<boolean> {
  for (let breaths = 0; breaths < breathsMax; breaths++) {
    await breath()
    if (!process.getActiveResourcesInfo().includes('Immediate')) return false
  }
  return true
}

/** A clock that stands still until the world moves it.
 * Invariant: monotonic time is the world's and moves only between events; wall time is monotonic
 * time plus an offset that a test may step either way, like an operator or NTP does. */
export class SimClock implements Clock {
  readonly #world: SimWorld
  #wallOffsetMs: number

  constructor(world: SimWorld, wallStartMs: number) {
    this.#world = world
    this.#wallOffsetMs = wallStartMs
  }

  wallMs(): number {
    return this.#wallOffsetMs + Math.floor(this.#world.nowMs)
  }

  monotonicMs(): number {
    return this.#world.nowMs
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#world.at(this.#world.nowMs + Math.max(0, delayMs), callback)
  }

  soon(callback: () => void): void {
    this.#world.enqueue(callback)
  }

  /** Steps wall time by `byMs`, either way; timers do not notice. */
  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs
  }
}
