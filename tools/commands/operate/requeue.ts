/** `waybill requeue`: treats messages as if they were new. */
import { plain, verbCommand } from './verb-command.js'
import type { OperatingCommand } from './operating-command.js'

export const requeue: OperatingCommand = verbCommand({
  name: 'requeue',
  done: 'requeued',
  notes:
    'Ids stay. A route that was set with `reroute` is forgotten. A running relay applies its --aliases again,\nto recipients that wait.',
  request: plain('requeue'),
  affects: () => true,
  why: 'there is nothing to do',
})
