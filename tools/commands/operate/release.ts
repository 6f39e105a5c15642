/** `waybill release`: makes messages on hold due now. */
import { plain, verbCommand } from './verb-command.js'
import type { OperatingCommand } from './operating-command.js'

export const release: OperatingCommand = verbCommand({
  name: 'release',
  done: 'released',
  notes: 'Attempts and age stay as they were.',
  request: plain('release'),
  affects: (message) => message.where === 'hold',
  why: 'it is not on hold',
})
