/** `waybill hold`: lets no attempt on messages begin. */
import { plain, verbCommand } from './verb-command.js'
import type { OperatingCommand } from './operating-command.js'

export const hold: OperatingCommand = verbCommand({
  name: 'hold',
  done: 'held',
  notes: 'An attempt under way ends first; its remaining recipients are held.',
  request: plain('hold'),
  affects: (message) => message.where !== 'hold',
  why: 'it is on hold already',
})
