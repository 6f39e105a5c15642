/** `waybill release`. */
import { plain, verbCommand } from './verb-command.js'
import type { OperatingCommand } from './operating.js'

export const release: OperatingCommand = verbCommand({
  name: 'release',
  summary: 'lets messages go that were held: they are due now',
  done: 'released',
  notes: 'Attempts and age stay as they were.',
  request: plain('release'),
  affects: (message) => message.where === 'hold',
  why: 'it is not on hold',
})
