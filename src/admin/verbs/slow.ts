/** Slows deliveries to a nexthop for a time. It holds in this life: a count that is not durable can
 * let one delivery too many begin, and one that were would cost each delivery a sync. */
import { checkOptionNames, integerOption } from '../../base/options.js'
import type { OpenedEngine } from '../../engine/open.js'
import { WaybillError } from '../../errors.js'
import { rateCountMax, rateMsMax, type Rate } from '../../policy/rate.js'
import { orderedMax } from '../../policy/rate-limits.js'
import { checkNames, checkTransport } from './suspend.js'

export interface SlowOptions extends Rate {
  readonly nexthop: string
  /** A name in `transports`. Default: every transport. */
  readonly transport?: string | undefined
  /** How long the limit lasts, milliseconds, 1 … 30 days. Default: an hour. */
  readonly forMs?: number | undefined
}

const forMsDefault = 3_600_000
const forMsMax = 30 * 86_400_000

/** @throws WaybillError OPTION_INVALID, QUEUE_CRASHED */
export function slow(opened: OpenedEngine, options: SlowOptions): void {
  const { life } = opened.parts
  checkOptionNames(options, { nexthop: true, transport: true, count: true, perMs: true, forMs: true })
  const { nexthop, transport, count, perMs, forMs = forMsDefault } = options
  // A program without types may have left it out.
  checkNames({ nexthop: nexthop ?? '', transport })
  checkTransport(opened, transport)
  integerOption('count', count, 1, rateCountMax)
  integerOption('perMs', perMs, 1, rateMsMax)
  integerOption('forMs', forMs, 1, forMsMax)
  life.check()
  const site = { transport: transport ?? '', nexthop }
  if (!opened.engine.dispatch.slow(site, { count, perMs }, forMs))
    throw new WaybillError('OPTION_INVALID', `${orderedMax} are slowed: resume some, or use a limit`, {
      option: 'nexthop',
    })
}
