/** Time that stands still until the test moves it; counts the timers that were asked for, and those
 * that still run. */
import type { Clock } from '../src/base/clock.js'

export interface HeldClock extends Clock {
  advance(ms: number): void
  readonly timerCount: number
  readonly runningCount: number
}

export function heldClock(): HeldClock {
  let nowMs = 0
  let timerCount = 0
  let timers: { at: number; run: () => void }[] = []
  return {
    get timerCount() {
      return timerCount
    },
    get runningCount() {
      return timers.length
    },
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    after: (delayMs, run) => {
      const timer = { at: nowMs + delayMs, run }
      timerCount++
      timers.push(timer)
      return { cancel: () => void (timers = timers.filter((other) => other !== timer)) }
    },
    soon: (run) => run(),
    advance: (ms) => {
      for (const end = nowMs + ms; ;) {
        const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
        if (next === undefined) return void (nowMs = end)
        timers = timers.filter((timer) => timer !== next)
        nowMs = next.at
        next.run()
      }
    },
  }
}
