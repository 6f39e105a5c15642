/** Other parameters for a scheduler that is at work.
 * Invariant: a living destination's window stays in 1 … its limit. Parameters on which the sums
 * of slots in memory stand are fixed: a change of them is refused, and nothing has changed. */
import { WaybillError } from '../errors.js'
import { releaseAll } from './blockers.js'
import { rateRingOf } from './destination.js'
import { checkedParameters } from './parameter-bounds.js'
import type {
  CheckedParameters,
  SchedulerOptions,
  SchedulerParameters,
  TransportParameters,
} from './parameters.js'
import type { SchedulerState } from './state.js'
import type { Transport } from './transport.js'

/** Parameters of a transport that must not change: jobs in memory were admitted with them. */
const fixedOfTransports: readonly (keyof TransportParameters)[] = [
  'recipientLimit',
  'extraRecipientLimit',
  'deliverySlotCost',
]

/** Parameters of the whole scheduler that must not change. */
const fixedOfAll: readonly (keyof SchedulerParameters)[] = [
  'qmgrMessageActiveLimit',
  'qmgrMessageRecipientLimit',
  'qmgrMessageRecipientMinimum',
  'retryTransport',
]

/** The parameters that follow from new options.
 * @throws WaybillError OPTION_INVALID, also for a change of a fixed parameter */
export function checkedChange(now: CheckedParameters, options: SchedulerOptions): CheckedParameters {
  const next = checkedParameters(options)
  const refuse = (option: string): never => {
    throw new WaybillError('OPTION_INVALID', 'this parameter is fixed when the scheduler is made', { option })
  }
  for (const name of fixedOfAll) if (now[name] !== next[name]) refuse(name)
  for (const name of fixedOfTransports) {
    if (now.defaults[name] !== next.defaults[name]) refuse(`defaults.${name}`)
    for (const transport of new Set([...now.transports.keys(), ...next.transports.keys()])) {
      const before = now.transports.get(transport) ?? now.defaults
      const after = next.transports.get(transport) ?? next.defaults
      if (before[name] !== after[name]) refuse(`transports.${transport}.${name}`)
    }
  }
  return next
}

/** Applies parameters that `checkedChange` has answered to every transport and destination. */
export function applyParameters(state: SchedulerState, parameters: CheckedParameters): void {
  state.replaceParameters(parameters)
  for (const transport of state.transports.values()) renew(transport, parameters)
}

function renew(transport: Transport, { transports, defaults }: CheckedParameters): void {
  const before = transport.settings
  const settings = transports.get(transport.name) ?? defaults
  transport.settings = settings
  const hasOtherRate =
    before.destinationRateLimit !== settings.destinationRateLimit ||
    before.destinationRateInterval !== settings.destinationRateInterval
  for (const destination of transport.destinations) {
    if (hasOtherRate) destination.rate = rateRingOf(transport)
    if (destination.state.kind !== 'dead')
      destination.window = Math.min(destination.window, settings.windowLimit)
    destination.recount()
  }
  transport.holdsBack = false
  releaseAll(transport)
}
