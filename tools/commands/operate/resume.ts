/** `waybill resume`: tries a dead or suspended destination again now. Needs a relay. */
import { countText } from '../../../src/base/count-text.js'
import type { DestinationSnapshot } from '../../../src/index.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { exits, jsonOption } from '../look/inspection.js'
import { textOf } from '../look/listing-options.js'
import { operatingCommand, relayOf, type Operating, type OperatingCommand } from './operating.js'

interface Wanted {
  /** In lower case; undefined: all. */
  readonly names: ReadonlySet<string> | undefined
  readonly transport: string | undefined
}

export const resume: OperatingCommand = operatingCommand(
  'resume',
  {
    synopsis: '[--queue DIR] [--json] [--transport NAME] DESTINATION … | --all',
    operands: true,
    options: {
      ...jsonOption,
      transport: { value: 'NAME', help: 'only destinations of this transport' },
      all: { help: 'all that are dead or suspended' },
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
    return { names: undefined, transport }
  }
  if (args.rest.length === 0) throw new UsageError('no destination is given; --all means every one')
  return { names: new Set(args.rest.map((name) => name.toLowerCase())), transport }
}

async function operate(operating: Operating, { names, transport }: Wanted): Promise<number> {
  const { args, out, complain } = operating
  const relay = await relayOf(operating)
  if (relay === undefined) return exits.wrong
  try {
    const stopped: DestinationSnapshot[] = []
    const seen = new Set<string>()
    for await (const destination of relay.destinations()) {
      if (transport !== undefined && destination.transport !== transport) continue
      const matching = [destination.name, destination.nexthop].map((name) => name.toLowerCase())
      if (names !== undefined && !matching.some((name) => names.has(name))) continue
      for (const name of matching) seen.add(name)
      if (destination.state.kind !== 'ready') stopped.push(destination)
    }
    let count = 0
    for (const { transport: by, name } of stopped) {
      if (!(await relay.resume(by, name))) continue
      count++
      if (args.isSet('json')) out.json({ transport: by, destination: name })
    }
    if (!args.isSet('json')) out.line(`${countText(count, 'destination')} resumed`)
    const unknown = [...(names ?? [])].filter((name) => !seen.has(name))
    for (const name of unknown) complain(`${name}: there is no such destination now`)
    return unknown.length > 0 ? exits.wrong : exits.fine
  } finally {
    relay.close()
  }
}
