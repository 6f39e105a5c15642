/** `waybill destinations`: shows destinations and their state. Needs a relay. */
import type { DestinationSnapshot, WaitingLimit } from '../../../src/index.js'
import { exits, jsonOption } from '../look/inspection.js'
import { durationText, printable, reasonOf, table, type Cell } from '../text/shown-text.js'
import {
  operatingCommand,
  relayOf,
  type Operating,
  type OperatingCommand,
} from '../operate/operating-command.js'

export const destinations: OperatingCommand = operatingCommand(
  'destinations',
  {
    synopsis: '[--queue DIR] [--json] [--dead]',
    options: {
      ...jsonOption,
      dead: { help: 'only those that are dead or suspended, or whose mail waits for a limit' },
    },
    notes:
      'Only a relay that runs has destinations. Window: deliveries at once that it may have; busy: that it has; waiting:\n' +
      'entries, each a message with some of its recipients; rate: deliveries that count against its limit.',
  },
  () => undefined,
  show,
)

async function show(operating: Operating): Promise<number> {
  const { args, out, surroundings } = operating
  const relay = await relayOf(operating)
  if (relay === undefined) return exits.wrong
  try {
    const found: DestinationSnapshot[] = []
    for await (const destination of relay.destinations()) {
      if (args.isSet('dead') && destination.state.kind === 'ready' && destination.limit === undefined)
        continue
      if (args.isSet('json')) out.json(jsonOf(destination))
      else found.push(destination)
      if (out.isFull) await out.flush()
    }
    if (!args.isSet('json')) out.line(textOf(found, surroundings.nowMs()))
    return exits.fine
  } finally {
    relay.close()
  }
}

const jsonOf = ({
  transport,
  nexthop,
  name,
  window,
  busy,
  todo,
  state,
  recovery,
  rate,
  limit,
}: DestinationSnapshot): object => ({
  transport,
  nexthop,
  destination: name,
  state: state.kind,
  ...(state.kind === 'ready' ? undefined : { until_time: untilTime(state.untilMs) }),
  ...(state.kind === 'suspended' && state.order !== undefined ? { by: 'operator' } : undefined),
  ...(state.kind === 'dead' ? { reason: reasonOf(state.reason) } : undefined),
  window,
  busy,
  waiting: todo,
  recovery,
  rate,
  ...(limit === undefined ? undefined : { limit: limitJson(limit) }),
})

const limitJson = ({ kind, name, count, perMs, untilMs }: WaitingLimit): object => ({
  kind,
  name,
  count,
  per_seconds: perMs / 1000,
  until_time: untilTime(untilMs),
})

/** `dead, 4m`; a revived one shows its revival. */
export function stateText({ state, recovery }: DestinationSnapshot, nowMs: number): string {
  if (state.kind === 'ready') return recovery === 'none' ? 'ready' : recovery
  if (state.untilMs === Infinity) return state.kind
  return `${state.kind}, ${durationText(state.untilMs - nowMs)}`
}

const untilTime = (untilMs: number): number | null =>
  untilMs === Infinity ? null : Math.floor(untilMs / 1000)

export function reasonText({ state, limit }: DestinationSnapshot): string {
  if (state.kind === 'dead') return reasonOf(state.reason)
  if (state.kind === 'suspended' && state.order !== undefined) return 'by an operator'
  return limit === undefined ? '' : limitText(limit)
}

/** `mail waits for 600 in 1m of tag news`. */
export function limitText({ kind, name, count, perMs }: WaitingLimit): string {
  const rate = `${count} in ${durationText(perMs)}`
  if (kind === 'order') return `slowed by an operator to ${rate}`
  return kind === 'reply'
    ? `slowed by its reply to ${rate}`
    : `mail waits for ${rate} of ${kind} ${printable(name)}`
}

function textOf(found: readonly DestinationSnapshot[], nowMs: number): string {
  if (found.length === 0) return 'no destinations'
  return table(
    ['transport', 'destination', 'state', 'window', 'busy', 'waiting', 'rate', 'reason'],
    found.map((destination): Cell[] => [
      destination.transport,
      printable(destination.name),
      stateText(destination, nowMs),
      destination.window,
      destination.busy,
      destination.todo,
      destination.rate,
      reasonText(destination),
    ]),
  )
}
