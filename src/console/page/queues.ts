/** The data of the view Queues: the queues of the store, asked for again and again while the view
 * is open. */
import type { Queues } from '../facts/api.js'
import type { App } from './app.js'
import { errorText } from '../parts/client.js'
import type { Asked } from './one-message.js'

const renewMs = 5000

export class QueuesView {
  readonly #app: App
  #timer: ReturnType<typeof setTimeout> | undefined
  all: Asked<Queues> = { kind: 'asked' }
  /** Why what is shown is from before. */
  trouble: string | undefined

  constructor(app: App) {
    this.#app = app
  }

  show(): void {
    if (this.#timer === undefined) void this.#keep()
  }

  leave(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** The next look begins when the one before was answered: a store that is away is not asked by
   * many. */
  async #keep(): Promise<void> {
    const timer = setTimeout(() => undefined)
    this.#timer = timer
    if (document.visibilityState === 'visible') await this.#renew()
    // The reader has left, or left and returned.
    if (this.#timer !== timer) return
    this.#timer = setTimeout(() => void this.#keep(), renewMs)
  }

  async #renew(): Promise<void> {
    try {
      this.all = { kind: 'there', value: await this.#app.client.get<Queues>('/v1/queues') }
      this.trouble = undefined
    } catch (error) {
      this.trouble = errorText(error)
      if (this.all.kind !== 'there') this.all = { kind: 'refused', code: '', text: this.trouble }
    }
    this.#app.changed()
  }
}
