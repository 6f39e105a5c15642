/** Listeners of a queue, called as EventEmitter calls its methods. */
import type { Listener, QueueEmitter, QueueEvents } from './events.js'

export class Listenable {
  readonly #events: QueueEmitter

  /** Made by `openQueue`. */
  constructor(events: QueueEmitter) {
    this.#events = events
  }

  /** Listeners run in the queue's turn. Their errors, thrown or rejected, emit `warning`
   * LISTENER_DEFECT and change nothing. `once` and `on` of node:events work: they fail when the
   * queue crashes with an error; their types want an EventEmitter: `once(queue as never, …)`.
   * @throws WaybillError OPTION_INVALID if there is no such event, here and below */
  on<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    this.#events.on(event, listener)
    return this
  }

  once<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    this.#events.once(event, listener)
    return this
  }

  off<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    this.#events.off(event, listener)
    return this
  }

  /** As EventEmitter calls them. */
  addListener<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    return this.on(event, listener)
  }

  removeListener<K extends keyof QueueEvents>(event: K, listener: Listener<K>): this {
    return this.off(event, listener)
  }
}
