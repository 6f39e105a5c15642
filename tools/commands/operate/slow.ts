/** `waybill slow`: lets fewer deliveries to a destination begin, for a time. */
import type { SlowOptions } from '../../../src/index.js'
import { rateExamples, readRate } from '../../../src/policy/rate.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { parseDurationOption } from '../cli/values.js'
import { exits, jsonOption } from '../look/inspection.js'
import { textOf } from '../look/listing-options.js'
import { durationText, printable } from '../text/shown-text.js'
import { operatingCommand, relayOf, type Operating, type OperatingCommand } from './operating-command.js'

const forDefault = '1h'

export const slow: OperatingCommand = operatingCommand(
  'slow',
  {
    synopsis: '[--queue DIR] [--json] [--for TIME] [--transport NAME] --to RATE NEXTHOP …',
    operands: true,
    options: {
      ...jsonOption,
      to: { value: 'RATE', help: `deliveries in a time: ${rateExamples}` },
      transport: { value: 'NAME', help: 'only by this transport' },
      for: { value: 'TIME', help: `ends by itself after that: 30m, 2h, 1d (${forDefault})` },
    },
    notes:
      'Mail waits in the queue for its turn, without an attempt. `waybill destinations` shows what is slowed, `waybill resume`\n' +
      'ends it, and so does the end of the relay: a line of --limits stays.',
  },
  check,
  operate,
)

function check(args: Arguments): readonly SlowOptions[] {
  const to = textOf(args, 'to')
  const rate = to === undefined ? undefined : readRate(to)
  if (rate === undefined) throw new UsageError(`--to is a rate: ${rateExamples}`)
  if (args.rest.length === 0) throw new UsageError('no destination is given')
  const transport = textOf(args, 'transport')
  const forMs = parseDurationOption('for', textOf(args, 'for') ?? forDefault)
  return args.rest.map((nexthop) => ({ nexthop, transport, ...rate, forMs }))
}

async function operate(operating: Operating, wanted: readonly SlowOptions[]): Promise<number> {
  const relay = await relayOf(operating)
  if (relay === undefined) return exits.wrong
  const { args, out } = operating
  try {
    for (const site of wanted) {
      await relay.slow(site)
      const { nexthop, transport, count, perMs, forMs = 0 } = site
      const by = transport === undefined ? '' : ` by ${printable(transport)}`
      if (args.isSet('json')) out.json({ nexthop, transport, count, per_ms: perMs, for_ms: forMs })
      else
        out.line(
          `${printable(nexthop)}${by} slowed to ${count} in ${durationText(perMs)} for ${durationText(forMs)}`,
        )
      await out.flush()
    }
    return exits.fine
  } finally {
    relay.close()
  }
}
