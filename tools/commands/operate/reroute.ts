/** `waybill reroute`: gives messages another nexthop. */
import { UsageError } from '../cli/command.js'
import { textOf } from '../look/listing-options.js'
import type { OperatingCommand } from './operating-command.js'
import { verbCommand } from './verb-command.js'

export const reroute: OperatingCommand = verbCommand({
  name: 'reroute',
  done: 'rerouted',
  synopsis: ' --to NEXTHOP [--transport NAME]',
  options: {
    to: { value: 'NEXTHOP', help: 'where they go: what the transport takes, like mx.example.net:25' },
    transport: { value: 'NAME', help: 'by this transport of the relay (that which they have)' },
  },
  notes:
    'All recipients of a message go there until it is requeued. What is on hold stays on hold.\n' +
    'To a relay that delivers directly a name is a domain, whose mail hosts are looked for; `[HOST]:PORT` is that host.\n' +
    'A relay that delivers to Maildirs does so all the same: there the nexthop only names the destination. Where --routes of\n' +
    'serve has it for a domain alone, or puts it off, `--transport smtp` sends mail of that domain elsewhere.',
  request: (args) => {
    const nexthop = args.one('to')
    if (nexthop === undefined || nexthop === '') throw new UsageError('--to NEXTHOP is required')
    const transport = textOf(args, 'transport')
    return (selector) => ({ do: 'reroute', selector, nexthop, transport })
  },
  affects: () => true,
  why: 'it goes there already',
})
