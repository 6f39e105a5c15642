/** The trace of a child: one line of JSON for each event, written to a pipe at once.
 * Invariant: a line is in the kernel before the child goes on, so the trace of a killed
 * child is complete, and lines are in the order of events. The trace does not touch the file
 * system under test. */
import { writeSync } from 'node:fs'

export type TraceLine =
  | { readonly kind: 'born'; readonly pid: number }
  /** `openQueue` settled, or did not. */
  | { readonly kind: 'opened' }
  | { readonly kind: 'unopened'; readonly code: string; readonly message: string }
  | { readonly kind: 'recovered'; readonly messageCount: number; readonly cutBytes: number }
  /** `submit` is about to be called; it settled; it rejected. */
  | { readonly kind: 'begun'; readonly number: number }
  | { readonly kind: 'settled'; readonly number: number }
  | { readonly kind: 'rejected'; readonly number: number; readonly code: string; readonly message: string }
  | EffectLine
  /** The outcome was appended to the journal: the queue's events. */
  | { readonly kind: 'recorded'; readonly id: string; readonly recipients: readonly string[] }
  /** The transport could not read a message. */
  | {
      readonly kind: 'unreadable'
      readonly recipient: string
      readonly code: string
      readonly message: string
    }
  | StatisticsLine
  | { readonly kind: 'warning'; readonly code: string; readonly message: string }
  /** All submissions were answered. */
  | { readonly kind: 'idle' }
  /** The queue is empty; files that nobody needs. */
  | { readonly kind: 'drained'; readonly leftovers: readonly string[] }
  | { readonly kind: 'stuck'; readonly messages: readonly string[] }
  | { readonly kind: 'crashed'; readonly code: string; readonly message: string }

export interface StatisticsLine {
  readonly kind: 'statistics'
  readonly activeCount: number
  readonly diskFull: boolean
  /** Of the journal: ready, and appended but not durable. */
  readonly spareCount: number
  readonly stagedBytes: number
}

/** An attempt had its effect outside; the queue does not know yet. */
export interface EffectLine {
  readonly kind: 'effect'
  readonly id: string
  readonly sender: string
  readonly recipient: string
  readonly attempts: number
  readonly outcome: 'delivered' | 'deferred' | 'failed'
  readonly hash: string
  /** Recipients that a report names. */
  readonly named: readonly string[]
}

const standardOutput = 1

/** Waits while the pipe is full: a missing line would look like a missing event. */
export function tell(line: TraceLine): void {
  let left = Buffer.from(`${JSON.stringify(line)}\n`)
  while (left.length > 0)
    try {
      left = left.subarray(writeSync(standardOutput, left))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
}

/** Cuts a stream of chunks into lines. The cut last line of a killed child does not count. */
export function lineReader(onLine: (line: TraceLine) => void): (chunk: string) => void {
  let rest = ''
  return (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(JSON.parse(line) as TraceLine)
  }
}
