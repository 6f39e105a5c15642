/** Metrics that are counted by events: names, meaning, and the event. Pure, independent of a
 * library.
 * Invariant: each metric that `stats` does not have is counted by one event. No label has a domain
 * or an address; codes are the program's. */
import type { QueueEvents } from '../engine/life/events.js'
import { warningCodes } from '../errors.js'
import { seconds, type Labels, type Named } from './metrics.js'

/** Counted as it happens. */
export interface Counted<K extends keyof QueueEvents = keyof QueueEvents> extends Named {
  readonly event: K
  readonly labels?: (event: QueueEvents[K][0]) => Labels
  /** By how much it grows; default 1. */
  readonly amount?: (event: QueueEvents[K][0]) => number
  /** Label values that are there from the beginning, at 0. */
  readonly known?: readonly Labels[]
}

/** Set by an event: not there until it happens. */
export interface Noted extends Named {
  readonly event: 'recovered'
  readonly read: (event: QueueEvents['recovered'][0]) => number
}

const counted = <K extends keyof QueueEvents>(metric: Counted<K>): Counted => metric as unknown as Counted

const outcomesName = {
  name: 'waybill_outcomes_total',
  help: 'Recipients delivered, deferred, failed for good, expired (given up), or deleted by an operator.',
  labelNames: ['outcome'],
} as const

const outcomes = [
  ...(['delivered', 'deferred', 'failed'] as const).map((outcome) =>
    counted({
      ...outcomesName,
      event: outcome,
      labels: () => ({ outcome }),
      amount: ({ recipients }) => recipients.length,
      known: [{ outcome }],
    }),
  ),
  ...(['expired', 'deleted'] as const).map((outcome) =>
    counted({
      ...outcomesName,
      event: outcome,
      labels: () => ({ outcome }),
      amount: ({ recipientCount }) => recipientCount,
      known: [{ outcome }],
    }),
  ),
]

export const countedByEvents: readonly Counted[] = [
  counted({
    event: 'accepted',
    name: 'waybill_accepted_messages_total',
    help: 'Messages accepted: durable. Reports to senders are not among them.',
  }),
  counted({
    event: 'accepted',
    name: 'waybill_accepted_recipients_total',
    help: 'Recipients of accepted messages.',
    amount: ({ recipientCount }) => recipientCount,
  }),
  counted({
    event: 'accepted',
    name: 'waybill_accepted_bytes_total',
    help: 'Data of accepted messages, bytes.',
    amount: ({ dataBytes }) => dataBytes,
  }),
  ...outcomes,
  counted({
    event: 'requeued',
    name: 'waybill_requeues_total',
    help: 'Messages that went to a lane: after a deferral, or because an operator moved them.',
  }),
  counted({
    event: 'slowed',
    name: 'waybill_slowed_sites_total',
    help: 'Times that a site was slowed by its reply.',
  }),
  counted({
    event: 'finished',
    name: 'waybill_finished_messages_total',
    help: 'Finished messages, reports among them.',
  }),
  counted({
    event: 'reported',
    name: 'waybill_reports_total',
    help: 'Reports to senders: bounces (failed), warnings of delay (delayed), requested reports of success (delivered).',
    labelNames: ['action'],
    labels: ({ action }) => ({ action }),
    known: [{ action: 'failed' }, { action: 'delayed' }, { action: 'delivered' }],
  }),
  counted({
    event: 'warning',
    name: 'waybill_warnings_total',
    help: 'Warnings for the operator, by code.',
    labelNames: ['code'],
    labels: ({ code }) => ({ code }),
    // All of them: a series that begins at 1 shows no rate.
    known: warningCodes.map((code) => ({ code })),
  }),
]

export const notedByEvents: readonly Noted[] = [
  {
    event: 'recovered',
    name: 'waybill_recovery_seconds',
    help: 'How long the recovery of this life took.',
    read: ({ durationMs }) => seconds(durationMs),
  },
  {
    event: 'recovered',
    name: 'waybill_recovered_messages',
    help: 'Messages that were active in the life before.',
    read: ({ messageCount }) => messageCount,
  },
  {
    event: 'recovered',
    name: 'waybill_recovery_cut_bytes',
    help: 'Torn end of the journal that was cut, bytes.',
    read: ({ cutBytes }) => cutBytes,
  },
]
