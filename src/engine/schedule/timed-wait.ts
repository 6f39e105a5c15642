/** Decides in which timed lane a message waits for a time, or that it waits in memory. Pure.
 * Invariant: a message is never started late by its lane: the lane's interval ends at least
 * `slackMs` before the time. So the lanes of a message are about half of the binary digits of its
 * wait: at most 19, and one for each 12 days beyond. README.md says why. */

/** Intervals of the timed lanes, milliseconds: from 4 s, doubling, to 12 days. */
export const timedIntervalsMs: readonly number[] = Array.from({ length: 19 }, (_, n) => 4000 * 2 ** n)

/** The delay of a start: by the checkpoint that makes a lane trusted, and by other starts. */
export const slackMs = 2000

/** A message that is due sooner waits in memory, as one of the active. */
export const asideMsMax: number = timedIntervalsMs[0]! + slackMs

export type TimedWait =
  | { readonly kind: 'due' }
  | { readonly kind: 'aside'; readonly forMs: number }
  | { readonly kind: 'lane'; readonly intervalMs: number }

/** @param leftMs until its time */
export function timedWaitOf(leftMs: number): TimedWait {
  if (leftMs <= 0) return { kind: 'due' }
  const intervalMs = timedIntervalsMs.findLast((each) => each <= leftMs - slackMs)
  return intervalMs === undefined ? { kind: 'aside', forMs: leftMs } : { kind: 'lane', intervalMs }
}
