/** `waybill hold`. */
import { plain, verbCommand } from './verb-command.js'
import type { OperatingCommand } from './operating.js'

export const hold: OperatingCommand = verbCommand({
  name: 'hold',
  done: 'held',
  notes: 'An attempt that is under way ends first; what it leaves is held.',
  request: plain('hold'),
  affects: (message) => message.where !== 'hold',
  why: 'it is on hold already',
})
