/** Counts the messages of each lane when the reader asks: the relay reads its files for that. */
import type { QueueAt } from '../facts/inspections.js'
import { errorText } from '../parts/client.js'
import type { App } from './app.js'
import type { Asked } from './one-message.js'

export interface LaneCount {
  readonly at: number
  /** By number of the lane; a lane that is not there has none. */
  readonly messages: ReadonlyMap<number, number>
}

export class LaneCounts {
  readonly #app: App
  /** undefined: not wanted yet. */
  counted: Asked<LaneCount> | undefined
  /** Lanes without mail are shown. */
  hasEmpty = false

  constructor(app: App) {
    this.#app = app
  }

  async count(): Promise<void> {
    this.counted = { kind: 'asked' }
    this.#app.changed()
    try {
      const { lanes } = await this.#app.client.get<QueueAt>('/v1/log/at')
      const messages = new Map(lanes.map(({ lane, messageCount }) => [lane, messageCount]))
      this.counted = { kind: 'there', value: { at: this.#app.feed.nowMs, messages } }
    } catch (error) {
      this.counted = { kind: 'refused', code: '', text: errorText(error) }
    }
    this.#app.changed()
  }

  toggleEmpty(): void {
    this.hasEmpty = !this.hasEmpty
    this.#app.changed()
  }
}
