/** `waybill expire`: returns messages to their senders. */
import { plain, verbCommand } from './verb-command.js'
import type { OperatingCommand } from './operating-command.js'

export const expire: OperatingCommand = verbCommand({
  name: 'expire',
  done: 'expired',
  notes: 'A message from the null sender just ends. Without a relay, reports name this machine.',
  request: plain('expire'),
  affects: () => true,
  why: 'there is nothing to do',
})
