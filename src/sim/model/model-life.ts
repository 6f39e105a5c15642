/** The facts about a life that decide its promises.
 * Invariant: an unknown fact weakens the promise that is checked. */
import type { Patience } from './idle-waits.js'
import type { Attempt } from './model-attempt.js'
import type { ModelMessage } from './model-message.js'
import type { Fact } from './pending-facts.js'
import type { Violate } from './violation.js'

export interface LifeFacts {
  /** Mail is attempted. */
  readonly delivers: boolean
  /** The longest wait for the next attempt, by the monotonic clock; Infinity: unknown. */
  readonly waitMsMax: number
  /** Calls take effect in order, and time stands still while any is under way. */
  readonly isInOrder: boolean
  /** Appends may wait for room. */
  readonly isShortOfRoom: boolean
  /** No attempt begins while a synced write has been under way for longer, milliseconds. */
  readonly proofMs: number
  /** It is being drained: no attempt begins. */
  readonly isDraining: boolean
  /** Nothing but its own time keeps mail waiting. */
  readonly isPunctual: boolean
  /** Its first instant, by the wall clock. */
  readonly beginsAtMs: number
  /** How long mail may wait while the queue is idle; undefined: not known. */
  readonly patience: Patience | undefined
}

/** A life without known facts. */
export const anyLife: LifeFacts = {
  delivers: true,
  waitMsMax: Infinity,
  isInOrder: false,
  isShortOfRoom: false,
  proofMs: Infinity,
  isDraining: false,
  isPunctual: false,
  beginsAtMs: 0,
  patience: undefined,
}

/** An attempt begins only in a life that delivers, where its outcome can be durable soon, and where
 * the queue is this life's. */
export function judgeBegin(
  name: string,
  { syncedWriteMs, isProven }: Attempt,
  { delivers, proofMs, isDraining }: LifeFacts,
  violate: Violate,
): void {
  if (!delivers) violate('O5', `${name} is attempted in a life that only accepts`)
  if (isDraining) violate('O3', `${name} is attempted in a life that is being drained`)
  if (syncedWriteMs > proofMs)
    violate('O3', `${name} is attempted while a synced write has hung for ${syncedWriteMs} ms`)
  if (!isProven) violate('O3', `${name} is attempted while it is not proven who owns the queue`)
}

/** The life reports that it is drained: a crash has nothing to forget. */
export function judgeStanding(
  isDrained: boolean,
  messages: Iterable<ModelMessage>,
  pending: Iterable<Fact>,
  violate: Violate,
): void {
  if (!isDrained) violate('O8', 'the queue says that it is not drained, and nobody gave up')
  for (const { name, recipients } of messages)
    for (const { address, inFlight } of recipients.values())
      if (inFlight) violate('O3', `${name} is under way to ${address} in a life that is drained`)
  for (const { kind, name } of pending)
    if (kind === 'delivered')
      violate('O3', `the delivery of ${name} is not durable in a life that is drained`)
}
