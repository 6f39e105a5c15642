/** Suspends deliveries to a destination, and ends that.
 * Invariant: when either settles, a durable checkpoint says it, so that it holds in the next life,
 * too. What cannot become durable is undone:
 *   1. suspended, and the operator has the answer
 *   2. crash, before any checkpoint
 *   3. the next life delivers there */
import { checkOptionNames, integerOption, isRecordText } from '../../base/options.js'
import {
  suspendedNameBytesMax,
  type Suspension,
  type SuspensionTarget,
} from '../../engine/life/suspensions.js'
import type { OpenedEngine } from '../../engine/open.js'
import { WaybillError } from '../../errors.js'

export interface SuspendOptions {
  /** How long the suspension lasts, milliseconds by the wall clock, 1 … a year. Default: until
   * `unsuspend`. */
  readonly forMs?: number | undefined
}

const forMsMax = 365 * 86_400_000

/** @throws WaybillError OPTION_INVALID, DISK_FULL, QUEUE_CRASHED by rejection */
export async function suspend(
  opened: OpenedEngine,
  target: SuspensionTarget,
  options: SuspendOptions,
): Promise<void> {
  const { life, suspensions, events } = opened.parts
  const { transport, nexthop } = checkedTarget(target)
  checkTransport(opened, transport)
  checkOptionNames(options, { forMs: true })
  const { forMs } = options
  if (forMs !== undefined) integerOption('forMs', forMs, 1, forMsMax)
  life.check()
  if (!suspensions.hasRoomFor({ transport, nexthop }))
    throw new WaybillError('OPTION_INVALID', 'too many destinations are suspended: suspend their transport', {
      option: 'nexthop',
    })
  const sinceAt = opened.parts.options.clock.wallMs()
  const untilAt = forMs === undefined ? Infinity : sinceAt + forMs
  const before = suspensions.of({ transport, nexthop })
  const suspension = { transport, nexthop, sinceAt, untilAt }
  suspensions.put(suspension)
  opened.engine.dispatch.suspensionsChanged()
  await durable(opened, () => restore(opened, suspension, before))
  events.emit('suspended', { transport: transport ?? '', nexthop: nexthop ?? '', untilAt })
}

/** @returns false when there is none
 * @throws WaybillError OPTION_INVALID, DISK_FULL, QUEUE_CRASHED by rejection */
export async function unsuspend(opened: OpenedEngine, target: SuspensionTarget): Promise<boolean> {
  const { life, suspensions, events } = opened.parts
  const { transport, nexthop } = checkedTarget(target)
  life.check()
  const before = suspensions.of({ transport, nexthop })
  if (before === undefined) return false
  suspensions.remove(before)
  await durable(opened, () => {
    if (suspensions.of(before) === undefined) suspensions.put(before)
  })
  events.emit('resumed', { transport: transport ?? '', nexthop: nexthop ?? '', cause: 'operator' })
  return true
}

/** Unless another order has come meanwhile. */
function restore({ parts }: OpenedEngine, suspension: Suspension, before: Suspension | undefined): void {
  const { suspensions } = parts
  if (suspensions.of(suspension) !== suspension) return
  if (before === undefined) suspensions.remove(suspension)
  else suspensions.put(before)
}

/** A checkpoint that was captured after the change. */
async function durable({ parts, engine }: OpenedEngine, undo: () => void): Promise<void> {
  const { life } = parts
  try {
    await life.orEnd(engine.whenRecovered())
    await life.orEnd(engine.checkpoint())
    life.check()
  } catch (error) {
    undo()
    // The one that waits for room may say it all the same: another one follows.
    if (!life.isOver) engine.checkpointer.wantAgain()
    throw error
  }
}

/** A wrong name would mean nothing. A life that only accepts has no transports to compare.
 * @throws WaybillError OPTION_INVALID */
export function checkTransport({ parts }: OpenedEngine, transport: string | undefined): void {
  const { deliver, transports } = parts.options
  if (transport !== undefined && deliver && !Object.hasOwn(transports, transport))
    throw new WaybillError('OPTION_INVALID', `there is no transport '${transport}'`, { option: 'transport' })
}

/** Of a transport and a nexthop, where they are given. @throws WaybillError OPTION_INVALID */
export function checkNames(names: SuspensionTarget): void {
  for (const [option, name] of Object.entries(names))
    if (name !== undefined && !isRecordText(name, suspendedNameBytesMax))
      throw new WaybillError('OPTION_INVALID', `expected 1 to ${suspendedNameBytesMax} bytes`, { option })
}

function checkedTarget(target: SuspensionTarget): SuspensionTarget {
  checkOptionNames(target, { transport: true, nexthop: true })
  const { transport, nexthop } = target
  checkNames({ transport, nexthop })
  if (transport === undefined && nexthop === undefined)
    throw new WaybillError('OPTION_INVALID', 'expected a transport, a nexthop or both', {
      option: 'nexthop',
    })
  return { transport, nexthop }
}
