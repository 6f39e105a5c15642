/** The newest outcomes, as they happen: for a developer who waits for the first one.
 * Invariant: it is asked for while few outcomes come and somebody looks at it: a busy relay has
 * better things to do than to describe each of thousands. */
import type { LatestOutcome } from '../facts/api.js'
import { isAbort } from '../parts/client.js'
import type { App } from './app.js'

const shownMax = 12
/** Events a second up to which they are asked for, and from which they are no more. */
const askBelow = 20
const stopAbove = 60
const askAgainMs = 60_000

export class Outcomes {
  readonly #app: App
  #run: AbortController | undefined
  #notBeforeMs = 0
  latest: LatestOutcome[] = []
  /** So many come that they are not shown. */
  isBusy = false

  constructor(app: App) {
    this.#app = app
  }

  /** To be called when figures have come, and when the reader goes elsewhere. */
  look(): void {
    const { place, feed } = this.#app
    const isSeen = place.view === 'now' && document.visibilityState === 'visible'
    if (!isSeen || feed.latest === undefined || feed.connection.kind !== 'live') return this.#stop()
    const { accepted, delivered, deferred, failed } = feed.latest.rates
    const perSecond = accepted + delivered + deferred + failed
    if (perSecond > stopAbove) {
      this.isBusy = true
      this.#stop()
    } else if (perSecond < askBelow && this.#run === undefined && performance.now() > this.#notBeforeMs) {
      this.isBusy = false
      void this.#listen()
    }
  }

  #stop(): void {
    this.#run?.abort()
    this.#run = undefined
  }

  async #listen(): Promise<void> {
    const run = new AbortController()
    this.#run = run
    try {
      const path = '/v1/outcomes?kinds=accepted,delivered,deferred,failed'
      for await (const { name, data } of this.#app.client.stream(path, run.signal)) {
        if (name === 'gap') continue
        this.latest = [JSON.parse(data) as LatestOutcome, ...this.latest].slice(0, shownMax)
        this.#app.changed()
      }
    } catch (error) {
      // The feed tells of the connection; where there are too many listeners, it is tried again
      // later.
      if (!isAbort(error)) this.#notBeforeMs = performance.now() + askAgainMs
    } finally {
      if (this.#run === run) this.#run = undefined
    }
  }
}
