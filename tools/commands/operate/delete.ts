/** `waybill delete`. */
import { plain, verbCommand } from './verb-command.js'
import type { OperatingCommand } from './operating.js'

export const deleteMessages: OperatingCommand = verbCommand({
  name: 'delete',
  done: 'deleted',
  notes: 'What is deleted cannot be brought back. Whoever sent it should hear of it: `expire`.',
  request: plain('delete'),
  affects: () => true,
  why: 'there is nothing to do',
})
