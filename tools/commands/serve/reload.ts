/** Reloads of `serve`, which SIGHUP and the control socket ask for.
 * Invariant: they take turns, and none begins before the relay takes mail. A request gets a reload
 * that began after it; at most one waits, for all requests meanwhile. One that came before this was
 * loaded is kept by tools/waybill.ts. */
import { isatty } from 'node:tty'
import type { ReloadedFile } from '../../../src/control/protocol.js'
import { isWaybillError } from '../../../src/errors.js'

type Reload = () => Promise<readonly ReloadedFile[]>

/** How the last one ended. The start is one that was successful. */
export interface LastReload {
  readonly isSuccessful: boolean
  /** Of the last that was, milliseconds since 1970. */
  readonly successAtMs: number
}

export class Reloads {
  readonly #nowMs: () => number
  #last: LastReload
  #began: (reload: Reload) => void = () => {}
  readonly #reload = new Promise<Reload>((resolve) => (this.#began = resolve))
  /** Settles when the one under way has ended. */
  #underWay: Promise<unknown> = Promise.resolve()
  #next: ReturnType<Reload> | undefined

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
    this.#last = { isSuccessful: true, successAtMs: nowMs() }
  }

  get last(): LastReload {
    return this.#last
  }

  /** @returns what was taken up @throws WaybillError OPTION_INVALID when all stays as it was */
  ask(): ReturnType<Reload> {
    this.#next ??= this.#nextTurn()
    return this.#next
  }

  /** The relay takes mail. */
  begin(reload: Reload): void {
    this.#began(reload)
  }

  async #nextTurn(): ReturnType<Reload> {
    const reload = await this.#reload
    await this.#underWay
    this.#next = undefined
    const turn = reload()
    this.#underWay = turn.then(
      () => (this.#last = { isSuccessful: true, successAtMs: this.#nowMs() }),
      () => (this.#last = { ...this.#last, isSuccessful: false }),
    )
    return turn
  }
}

/** Of this process. */
export const reloads: Reloads = new Reloads()

/** Hang-ups of this process, with those before there was a listener. */
export interface HangUps {
  /** That the process was started from: a descriptor of it. */
  readonly terminal: number | undefined
  readonly listen: (listener: () => void) => void
}

/** Instead of ending with it. When the terminal is gone that it was started from, it ends all
 * the same, as every program does: nobody could stop it there any more, and it would keep
 * port and queue. */
export function reloadAtHangup({ terminal, listen }: HangUps): void {
  const hungUp = (): void => {
    if (terminal !== undefined && !isatty(terminal)) {
      process.off('SIGHUP', hungUp)
      process.kill(process.pid, 'SIGHUP')
      return
    }
    reloads.ask().catch((error: unknown) => {
      // What was wrong with a file stands in the log.
      if (!isWaybillError(error)) throw error
    })
  }
  listen(hungUp)
}
