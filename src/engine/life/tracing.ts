/** Channels of node:diagnostics_channel by which tools trace a queue (README.md).
 * Invariant: without a subscriber a step costs one look at a flag. A subscriber gets plain fields,
 * and nothing that it could change. */
import { channel, tracingChannel, type Channel, type TracingChannel } from 'node:diagnostics_channel'
import type { ActiveMessage } from '../../active/active-message.js'
import type { Outcome } from '../../delivery/transport.js'
import type { SyncStatistics } from '../../log/sync-statistics.js'

/** From `submit` to durable. */
export interface AcceptTrace {
  readonly sender: string
  readonly recipientCount: number
  /** The one that the submission named, if it did. */
  readonly traceparent?: string
  /** The message, once it is durable. */
  result?: { readonly id: string }
  /** The reason of a refusal. */
  error?: unknown
}

/** From the call of a transport to its answer. */
export interface AttemptTrace {
  readonly id: string
  readonly sender: string
  readonly transport: string
  readonly nexthop: string
  readonly recipientCount: number
  /** Attempts on the message before. */
  readonly attempts: number
  /** The ones that the submission named, if it did. */
  readonly traceparent?: string
  readonly tracestate?: string
  /** One for each recipient, once the transport has answered. */
  result?: readonly Outcome[]
}

/** All recipients of a message have an outcome: it ends, or waits for its next attempt. */
export interface SettleTrace {
  readonly id: string
  readonly deliveredCount: number
  readonly deferredCount: number
  readonly recipientCount: number
}

/** A batch of the journal is durable. */
export interface SyncTrace {
  readonly durationMs: number
  /** All that this life has written to the journal. */
  readonly writtenBytes: number
}

/** From the capture of restart positions until they are durable. */
export interface CheckpointTrace {
  /** Checkpoints of this life before it. */
  readonly count: number
  error?: unknown
}

/** The channels; README.md has their table. */
export const accepting: TracingChannel<unknown, AcceptTrace> = tracingChannel('waybill:accept')
export const attempting: TracingChannel<unknown, AttemptTrace> = tracingChannel('waybill:attempt')
export const checkpointing: TracingChannel<unknown, CheckpointTrace> = tracingChannel('waybill:checkpoint')
export const settling: Channel = channel('waybill:settle')
export const syncing: Channel = channel('waybill:sync')

/** The trace of the last synced write. */
export const syncOf = ({ syncLastMs, writtenBytes }: Readonly<SyncStatistics>): SyncTrace => ({
  durationMs: syncLastMs,
  writtenBytes,
})

/** The trace of a message whose recipients all have an outcome. */
export const settlingOf = ({ envelope, deliveredCount, deferredCount }: ActiveMessage): SettleTrace => ({
  id: envelope.id,
  recipientCount: envelope.recipientCount,
  deliveredCount,
  deferredCount,
})

/** Traces `accept`. The submission was not checked yet, so it may be anything. */
export const traceAccept = <T extends { readonly id: string }>(
  submission: {
    readonly sender: string
    readonly recipients: readonly unknown[]
    readonly traceparent?: string | undefined
  },
  accept: () => Promise<T>,
): Promise<T> => {
  const { sender, recipients, traceparent } = submission ?? {}
  const trace = {
    sender: String(sender),
    recipientCount: recipients?.length ?? 0,
    ...(traceparent === undefined ? undefined : { traceparent }),
  }
  return accepting.tracePromise(accept, trace)
}

/** Attempts under way that somebody traces. */
const traces = new WeakMap<object, AttemptTrace>()

/** Traces the beginning of an attempt. @param entry by which `traceAnswer` finds it @param begin
 * calls the transport, maybe to its answer */
export function traceAttempt(entry: object, trace: AttemptTrace, begin: () => void): void {
  traces.set(entry, trace)
  // A transport that answers at once ends the attempt within its beginning.
  attempting.start.runStores(trace, begin)
  attempting.end.publish(trace)
}

/** Traces the end of an attempt, if its beginning was traced. */
export function traceAnswer(entry: object, outcomes: readonly Outcome[]): void {
  if (!attempting.hasSubscribers) return
  const traced = traces.get(entry)
  if (traced === undefined) return
  traces.delete(entry)
  traced.result = outcomes
  attempting.asyncStart.publish(traced)
  attempting.asyncEnd.publish(traced)
}
