/** Moments of a life: a delay from now, or between two calls of the disk.
 * Invariant: a callback runs once, and never after the life. */
import type { SimWorld } from './world.js'

/** After some milliseconds; or before the call that takes effect after so many others. */
export type Moment = { readonly ms: number } | { readonly calls: number }

interface Awaited {
  callsLeft: number
  readonly callback: () => void
}

export class Moments {
  readonly #world: SimWorld
  #awaited: Awaited[] = []

  constructor(world: SimWorld) {
    this.#world = world
  }

  at(moment: Moment, callback: () => void): void {
    if ('ms' in moment) this.#world.clock.after(moment.ms, callback)
    else this.#awaited.push({ callsLeft: moment.calls, callback })
  }

  /** Waiting for calls ends. */
  forget(): void {
    this.#awaited = []
  }

  /** A call of the disk is about to take effect. */
  beforeCall(): void {
    if (this.#awaited.length === 0) return
    const awaited = this.#awaited
    this.#awaited = awaited.filter(({ callsLeft }) => callsLeft > 0)
    for (const one of awaited)
      if (one.callsLeft === 0) one.callback()
      else one.callsLeft--
  }
}
