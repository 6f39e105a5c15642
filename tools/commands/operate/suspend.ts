/** `waybill suspend`: lets no delivery to a destination begin. */
import type { SuspensionTarget } from '../../../src/index.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { parseDurationOption } from '../cli/values.js'
import { exits, jsonOption } from '../look/inspection.js'
import { textOf } from '../look/listing-options.js'
import { durationText, printable } from '../text/shown-text.js'
import { operatingCommand, type Operating, type OperatingCommand } from './operating-command.js'
import { openOperator } from './operator.js'

interface Wanted {
  readonly targets: readonly SuspensionTarget[]
  readonly forMs: number | undefined
}

export const suspend: OperatingCommand = operatingCommand(
  'suspend',
  {
    synopsis: '[--queue DIR] [--json] [--for TIME] [--transport NAME] NEXTHOP … | --transport NAME',
    operands: true,
    options: {
      ...jsonOption,
      transport: { value: 'NAME', help: 'only by this transport; without a NEXTHOP, all that it delivers' },
      for: {
        value: 'TIME',
        help: 'ends by itself after that: 30m, 2h, 1d; default: `waybill resume` ends it',
      },
    },
    notes:
      'Deliveries under way go on; none begins, in later lives of the relay too. Mail is accepted and kept: it is deferred\n' +
      'without an attempt, grows old and expires as always. `waybill destinations --dead` shows what is suspended.\n' +
      'A running relay does it; without one this command does it under the lock of the queue.',
  },
  check,
  operate,
)

function check(args: Arguments): Wanted {
  const transport = textOf(args, 'transport')
  const time = textOf(args, 'for')
  const forMs = time === undefined ? undefined : parseDurationOption('for', time)
  if (args.rest.length > 0) return { targets: args.rest.map((nexthop) => ({ transport, nexthop })), forMs }
  if (transport === undefined) throw new UsageError('no destination is given; --transport means all of one')
  return { targets: [{ transport }], forMs }
}

async function operate(
  { path, args, out, surroundings }: Operating,
  { targets, forMs }: Wanted,
): Promise<number> {
  const operator = await openOperator(path, surroundings)
  try {
    for (const target of targets) {
      await operator.suspend(target, { forMs })
      if (args.isSet('json')) out.json({ ...target, for_ms: forMs ?? null })
      else out.line(sentenceOf(target, forMs))
      await out.flush()
    }
    return exits.fine
  } finally {
    operator.close()
  }
}

function sentenceOf({ transport, nexthop }: SuspensionTarget, forMs: number | undefined): string {
  const by = transport === undefined ? '' : ` by ${printable(transport)}`
  const what = nexthop === undefined ? `all deliveries${by}` : `${printable(nexthop)}${by}`
  return `${what} suspended ${forMs === undefined ? 'until resumed' : `for ${durationText(forMs)}`}`
}
