/** `waybill resume`: tries a dead destination again now; ends suspensions, and what is slowed. */
import { countText } from '../../../src/base/text.js'
import type { DestinationSnapshot } from '../../../src/index.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { exits, jsonOption } from '../look/inspection.js'
import { textOf } from '../look/listing-options.js'
import { operatingCommand, type Operating, type OperatingCommand } from './operating-command.js'
import { openOperator, type Operator } from './operator.js'

interface Wanted {
  /** In lower case; undefined: all. */
  readonly names: ReadonlySet<string> | undefined
  /** Only the transport itself, which is suspended as a whole. */
  readonly isTransport: boolean
  readonly transport: string | undefined
}

export const resume: OperatingCommand = operatingCommand(
  'resume',
  {
    synopsis: '[--queue DIR] [--json] [--transport NAME] DESTINATION … | --transport NAME | --all',
    operands: true,
    options: {
      ...jsonOption,
      transport: {
        value: 'NAME',
        help: 'only destinations of this transport; without one, the transport that was suspended as a whole',
      },
      all: { help: 'all that are dead, suspended or slowed' },
    },
    notes:
      'DESTINATION is a name, or a nexthop, that `waybill destinations --dead` shows. Deferred mail waits for its time all\n' +
      'the same: `waybill flush --nexthop` attempts it now.',
  },
  check,
  operate,
)

function check(args: Arguments): Wanted {
  const transport = textOf(args, 'transport')
  if (args.isSet('all')) {
    if (args.rest.length > 0) throw new UsageError('--all, or names, not both')
    return { names: undefined, isTransport: false, transport }
  }
  if (args.rest.length > 0)
    return { names: new Set(args.rest.map((name) => name.toLowerCase())), isTransport: false, transport }
  if (transport === undefined) throw new UsageError('no destination is given; --all means every one')
  return { names: new Set(['*']), isTransport: true, transport }
}

async function operate(operating: Operating, wanted: Wanted): Promise<number> {
  const { path, args, out, complain, surroundings } = operating
  const operator = await openOperator(path, surroundings)
  try {
    const { stopped, unknown } = await found(operator, wanted)
    let count = 0
    let kept = 0
    for (const destination of stopped) {
      const { transport, name, state } = destination
      if (isWholeTransport(state) && name !== '*') {
        complain(`${name}: ${transport} is suspended as a whole: waybill resume --transport ${transport}`)
        kept++
      } else if (await resumed(operator, destination)) {
        count++
        if (args.isSet('json')) out.json({ transport, destination: name })
      }
    }
    if (!args.isSet('json')) out.line(`${countText(count, 'destination')} resumed`)
    for (const name of unknown)
      complain(
        wanted.isTransport
          ? `${wanted.transport ?? ''} is not suspended as a whole`
          : `${name}: there is no such destination now`,
      )
    return unknown.length + kept > 0 ? exits.wrong : exits.fine
  } finally {
    operator.close()
  }
}

async function found(
  operator: Operator,
  { names, transport }: Wanted,
): Promise<{ readonly stopped: readonly DestinationSnapshot[]; readonly unknown: readonly string[] }> {
  const stopped: DestinationSnapshot[] = []
  const seen = new Set<string>()
  for await (const destination of operator.destinations()) {
    if (transport !== undefined && destination.transport !== transport) continue
    const matching = [destination.name, destination.nexthop].map((name) => name.toLowerCase())
    if (names !== undefined && !matching.some((name) => names.has(name))) continue
    for (const name of matching) seen.add(name)
    if (destination.state.kind === 'ready' && destination.limit?.kind !== 'order') continue
    // The line of the transport itself ends it.
    if (names === undefined && destination.name !== '*' && isWholeTransport(destination.state)) continue
    stopped.push(destination)
  }
  return { stopped, unknown: [...(names ?? [])].filter((name) => !seen.has(name)) }
}

const isWholeTransport = (state: DestinationSnapshot['state']): boolean =>
  state.kind === 'suspended' && state.order !== undefined && state.order.nexthop === undefined

/** It may be dead besides. */
async function resumed(
  operator: Operator,
  { transport, name, state }: DestinationSnapshot,
): Promise<boolean> {
  const isEnded =
    state.kind === 'suspended' && state.order !== undefined && (await operator.unsuspend(state.order))
  return (await operator.resume(transport, name)) || isEnded
}
