/** `waybill delete`: ends messages without reports. */
import { plain, verbCommand } from './verb-command.js'
import type { OperatingCommand } from './operating-command.js'

export const deleteMessages: OperatingCommand = verbCommand({
  name: 'delete',
  done: 'deleted',
  notes: 'Deleted mail cannot be brought back. To report it to its senders, use `expire`.',
  request: plain('delete'),
  affects: () => true,
  why: 'there is nothing to do',
})
