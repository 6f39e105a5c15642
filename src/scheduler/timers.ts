/** Timers: a heap with cancellation.
 * Invariant: of two timers the one with the earlier due time fires first, of equal ones the one
 * that was set first. A timer's `place` is its index in the heap, or -1. */
import type { Destination } from './destination.js'
import type { Transport } from './transport.js'

/** - `revive`: a dead destination, - `resume`: a suspended one, - `transport`: a dead transport,
 * - `forget`: an idle destination whose history need not be kept any longer. */
export type TimerKind = 'revive' | 'resume' | 'transport' | 'forget'

export class Timer {
  readonly kind: TimerKind
  readonly dueMs: number
  readonly order: number
  readonly transport: Transport
  readonly destination: Destination | undefined
  place = -1

  constructor(
    kind: TimerKind,
    dueMs: number,
    order: number,
    transport: Transport,
    destination?: Destination,
  ) {
    this.kind = kind
    this.dueMs = dueMs
    this.order = order
    this.transport = transport
    this.destination = destination
  }
}

const before = (a: Timer, b: Timer): boolean =>
  a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order)

export class Timers {
  readonly #heap: Timer[] = []
  #asked = 0

  /** Infinity when nothing waits. */
  get nextDueMs(): number {
    return this.#heap[0]?.dueMs ?? Infinity
  }

  ask(kind: TimerKind, dueMs: number, transport: Transport, destination?: Destination): Timer {
    const timer = new Timer(kind, dueMs, this.#asked++, transport, destination)
    this.#heap.push(timer)
    this.#rise(this.#heap.length - 1, timer)
    return timer
  }

  /** Harmless when it does not wait any more. */
  cancel(timer: Timer): void {
    const place = timer.place
    if (place < 0) return
    timer.place = -1
    const last = this.#heap.pop()!
    if (last === timer) return
    this.#rise(place, last)
    this.#sink(last.place, last)
  }

  /** The first timer that is due; it does not wait any more. */
  takeDue(nowMs: number): Timer | undefined {
    const first = this.#heap[0]
    if (first === undefined || first.dueMs > nowMs) return undefined
    this.cancel(first)
    return first
  }

  #rise(from: number, timer: Timer): void {
    const heap = this.#heap
    let place = from
    while (place > 0) {
      const above = (place - 1) >> 1
      const parent = heap[above]!
      if (!before(timer, parent)) break
      this.#put(place, parent)
      place = above
    }
    this.#put(place, timer)
  }

  #sink(from: number, timer: Timer): void {
    const heap = this.#heap
    let place = from
    for (;;) {
      let below = 2 * place + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && before(heap[below + 1]!, heap[below]!)) below++
      const child = heap[below]!
      if (!before(child, timer)) break
      this.#put(place, child)
      place = below
    }
    this.#put(place, timer)
  }

  #put(place: number, timer: Timer): void {
    this.#heap[place] = timer
    timer.place = place
  }
}
