/** A clock that stands still until the world moves it.
 * Invariant: monotonic time is the world's and moves only between events; wall time is monotonic
 * time plus an offset that a test may step either way, like an operator or NTP does. */
import type { Clock, Timer } from '../../base/clock.js'
import type { SimWorld } from './world.js'

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
