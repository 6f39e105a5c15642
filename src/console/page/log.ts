/** The data of the view Log: the segments, read now and then; a check of the queue and its past,
 * when the reader asks. */
import type { LogPicture, QueueAt, Verdict } from '../facts/inspections.js'
import type { App } from './app.js'
import { errorText, isAbort } from '../parts/client.js'
import type { Asked } from './one-message.js'

const renewMs = 5000

export class LogView {
  readonly #app: App
  picture: Asked<LogPicture> | undefined
  verdict: Asked<Verdict> | undefined
  /** Of a check that is under way, 0 to 1. */
  checkedShare = 0
  past: Asked<QueueAt> | undefined
  #check = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(app: App) {
    this.#app = app
  }

  show(): void {
    if (this.#timer !== undefined) return
    void this.#keep()
  }

  leave(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Again and again, with a pause that is longer than the reading. */
  async #keep(): Promise<void> {
    const startedAt = performance.now()
    this.#timer = setTimeout(() => undefined)
    if (document.visibilityState === 'visible') await this.renew()
    if (this.#timer === undefined) return
    const pauseMs = Math.max(renewMs, 20 * (performance.now() - startedAt))
    this.#timer = setTimeout(() => void this.#keep(), pauseMs)
  }

  async renew(): Promise<void> {
    const before = this.picture
    if (before?.kind !== 'there') this.picture = { kind: 'asked' }
    this.#app.changed()
    this.picture = await asked(() => this.#app.client.get<LogPicture>('/v1/log/segments'))
    this.#app.changed()
  }

  async verify(): Promise<void> {
    this.stop()
    this.#check = new AbortController()
    const { signal } = this.#check
    this.verdict = { kind: 'asked' }
    this.checkedShare = 0
    this.#app.changed()
    try {
      for await (const { name, data } of this.#app.client.stream('/v1/log/verify', signal)) {
        if (name === 'progress') {
          const { done, all } = JSON.parse(data) as { done: number; all: number }
          this.checkedShare = all === 0 ? 0 : Math.min(1, done / all)
        }
        if (name === 'result') {
          this.verdict = { kind: 'there', value: JSON.parse(data) as Verdict }
          this.#app.say(this.verdict.value.isSound ? 'The queue is sound' : 'The queue has faults')
        }
        this.#app.changed()
      }
    } catch (error) {
      this.verdict =
        signal.aborted || isAbort(error) ? undefined : { kind: 'refused', code: '', text: errorText(error) }
    }
    this.#app.changed()
  }

  stop(): void {
    this.#check.abort()
  }

  async lookAt(position: number): Promise<void> {
    this.past = { kind: 'asked' }
    this.#app.changed()
    this.past = await asked(() => this.#app.client.get<QueueAt>(`/v1/log/at?position=${position}`))
    this.#app.changed()
  }
}

async function asked<T>(get: () => Promise<T>): Promise<Asked<T>> {
  try {
    return { kind: 'there', value: await get() }
  } catch (error) {
    return { kind: 'refused', code: '', text: errorText(error) }
  }
}
