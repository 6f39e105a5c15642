/** A machine of a simulated cluster: what runs on it can be paused, killed and cut off.
 * Invariant: all that reaches its programs comes through `run`: timers, answers, what
 * transports say. So while it is paused nothing of them moves, though time passes; once a
 * program is dead nothing ever does. */
import type { Clock, Timer } from '../../base/clock.js'
import type { SimWorld } from '../world/world.js'

export class SimNode {
  readonly name: string
  readonly #world: SimWorld
  #isPaused = false
  readonly #held: (() => void)[] = []
  /** Of its network: nothing passes. */
  isCut = false

  constructor(name: string, world: SimWorld) {
    this.name = name
    this.#world = world
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    for (const callback of this.#held.splice(0)) this.#world.enqueue(callback)
  }

  /** For a program, which may have ended meanwhile. */
  run(program: SimProgram, callback: () => void): void {
    if (program.isDead) return
    if (this.#isPaused) this.#held.push(() => this.run(program, callback))
    else callback()
  }
}

/** A process: its clock stops to call when it is dead. */
export class SimProgram {
  readonly node: SimNode
  readonly clock: Clock
  isDead = false
  /** What ends with it. */
  readonly #atEnd: (() => void)[] = []

  constructor(node: SimNode, world: SimWorld) {
    this.node = node
    const { clock } = world
    const later = (callback: () => void) => (): void => this.node.run(this, callback)
    this.clock = {
      wallMs: () => clock.wallMs(),
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, callback): Timer => clock.after(delayMs, later(callback)),
      soon: (callback) => clock.soon(later(callback)),
    }
  }

  atEnd(callback: () => void): void {
    this.#atEnd.push(callback)
  }

  kill(): void {
    if (this.isDead) return
    this.isDead = true
    for (const callback of this.#atEnd) callback()
  }
}
