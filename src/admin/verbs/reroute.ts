/** Gives messages a route for all their recipients, until they are requeued.
 * Messages on hold stay there; others are due now, because the old route's interval no
 * longer matters. */
import { isOnHold } from '../select/listing.js'
import { checkOptionNames, isRecordText } from '../../base/options.js'
import type { OpenedEngine } from '../../engine/open.js'
import type { Selector } from '../select/selector.js'
import { WaybillError } from '../../errors.js'
import type { VerbOptions, VerbResult } from './tally.js'
import { carryOut } from './verb.js'

export interface NewRoute {
  /** A name in `transports`. Default: the transport that routing gives. */
  readonly transport?: string | undefined
  /** 1 … 255 bytes. */
  readonly nexthop: string
}

const routeBytesMax = 255

/** @throws WaybillError OPTION_INVALID when there is no such transport, or no nexthop */
export async function reroute(
  opened: OpenedEngine,
  selector: Selector,
  given: NewRoute,
  options: VerbOptions,
): Promise<VerbResult> {
  checkOptionNames(given, { transport: true, nexthop: true }, 'route')
  const { transport = '', nexthop } = given
  const { transports, deliver } = opened.parts.options
  if (!isRecordText(nexthop, routeBytesMax))
    throw new WaybillError('OPTION_INVALID', `a nexthop is a string of 1 to ${routeBytesMax} bytes`, {
      option: 'nexthop',
    })
  // A life that delivers nothing need not have the transports of those that do.
  const isText = transport === '' || isRecordText(transport, routeBytesMax)
  if (!isText || (deliver && transport !== '' && !Object.hasOwn(transports, transport)))
    throw new WaybillError('OPTION_INVALID', `there is no transport '${transport}'`, { option: 'transport' })
  const route = { transport, nexthop }
  return carryOut(
    opened,
    selector,
    {
      orderFor: (found) => {
        const { route: now } = found.message.envelope
        if (now?.transport === transport && now.nexthop === nexthop) return undefined
        return { kind: 'move', lane: isOnHold(found) ? 'hold' : 'incoming', changes: { route } }
      },
    },
    options,
  )
}
