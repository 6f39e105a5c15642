/** Attempts deferred messages now, at a limited rate, so that an outage does not end in a flood.
 * They are started in their lanes, in order; after a crash the remaining ones are
 * deferred as before. Mail that waits to be asked for (queueonly) is attempted, too: of a message
 * with several nexthops, where one is selected, the recipients there. */
import { pause } from '../../base/clock.js'
import { checkOptionNames } from '../../base/options.js'
import { hasManyMarks } from '../../engine/checkpoint/capture.js'
import type { Selected } from '../select/listing.js'
import { selected } from '../select/listing.js'
import type { OpenedEngine } from '../../engine/open.js'
import type { Order } from '../../engine/settle/orders.js'
import { isSameNexthop, type Selector } from '../select/selector.js'
import { WalkDamage } from '../select/walk-damage.js'
import { WaybillError } from '../../errors.js'
import type { Parts } from '../../engine/life/parts.js'
import type { Lane } from '../../lane/lane.js'
import { isEarly } from '../../record/terms.js'
import { Tally, verbOptionNames, type VerbOptions, type VerbResult } from './tally.js'
import { carryOut, requireSelection } from './verb.js'

export interface FlushOptions extends VerbOptions {
  /** Messages started in a second; Infinity: as fast as there is room among the
   * active. Default 100. */
  readonly perSecond?: number | undefined
}

const perSecondDefault = 100
const order: Order = { kind: 'move', lane: 'incoming', changes: {} }
const isDeferred = (lane: Lane): boolean => lane.kind === 'retry'

/** @throws WaybillError OPTION_INVALID, VERB_ABORTED */
export async function flush(
  opened: OpenedEngine,
  selector: Selector,
  options: FlushOptions,
): Promise<VerbResult> {
  requireSelection(selector)
  checkOptionNames(options, { ...verbOptionNames, perSecond: true })
  const { perSecond = perSecondDefault, ...common } = options
  if (!(perSecond > 0))
    throw new WaybillError('OPTION_INVALID', `${perSecond} is not a number above 0`, { option: 'perSecond' })
  const { parts } = opened
  if (!parts.options.deliver || common.dryRun === true) {
    // In a life without deliveries they become the first ones of the next.
    const orderFor = (found: Selected): Order | undefined =>
      isBusy(opened, found) || waitsForItsTime(parts, found) ? undefined : order
    return carryOut(opened, selector, { orderFor, isAsked: isDeferred }, common)
  }
  return parts.life.orEnd(startAll(opened, selector, perSecond, options))
}

async function startAll(
  opened: OpenedEngine,
  selector: Selector,
  perSecond: number,
  options: VerbOptions,
): Promise<VerbResult> {
  const { parts, engine } = opened
  const tally = new Tally(options)
  await engine.whenRecovered()
  revive(opened, selector)
  const pace = new Pace(opened, perSecond)
  const trust = (): Promise<void> => engine.checkpoint()
  const damage = new WalkDamage(parts.life)
  const askedFor = { nexthop: selector.nexthop }
  try {
    const walk = { trust, isAsked: isDeferred, signal: options.signal, damage }
    for await (const batch of selected(parts, selector, walk)) {
      for (const found of batch) {
        if (isBusy(opened, found) || waitsForItsTime(parts, found)) continue
        await pace.next(options.signal)
        if (found.kind === 'active') {
          // Those of its recipients that are deferred wait for the policy.
          if (engine.settle.attempt(found.message)) tally.done(found.message.pendingCount)
          continue
        }
        // A checkpoint's marks must fit their lane.
        if (hasManyMarks(parts, found.lane)) await engine.checkpoint()
        tally.pause()
        if (
          await tally.orAborted(engine.intake.startEarly(found.lane, found.message, askedFor, options.signal))
        )
          tally.done(found.message.envelope.recipientCount)
        else tally.missedCount++
        parts.life.check()
        // The next one may have to wait.
        tally.pause()
      }
      await parts.journal.whenDurable(parts.journal.end)
    }
  } catch (error) {
    damage.meet(error)
  } finally {
    // Also when it is aborted: counted messages are durable.
    if (!parts.life.isOver) await parts.journal.whenDurable(parts.journal.end)
  }
  tally.pause()
  damage.tell()
  return tally.result
}

/** A message that a limit keeps waiting in memory is flushed, as one that is deferred. */
const isBusy = ({ engine }: OpenedEngine, found: Selected): boolean =>
  found.kind === 'active' && !engine.settle.isLimited(found.message)

/** A message that waits for its time is not deferred, and not flushed. */
const waitsForItsTime = ({ options }: Parts, { message }: Selected): boolean =>
  isEarly(message.envelope.terms, options.clock.wallMs())

/** Dead destinations are revived; otherwise started mail would be deferred again at once. */
function revive({ engine }: OpenedEngine, { nexthop }: Selector): void {
  for (const { transport, name, nexthop: to, state } of engine.dispatch.destinations())
    if (state.kind !== 'ready' && (nexthop === undefined || isSameNexthop(to, nexthop)))
      engine.dispatch.resume(transport, name)
}

/** Evenly, without catching up after a stall. */
class Pace {
  readonly #opened: OpenedEngine
  readonly #gapMs: number
  #atMs = 0

  constructor(opened: OpenedEngine, perSecond: number) {
    this.#opened = opened
    this.#gapMs = 1000 / perSecond
  }

  /** @param signal ends the wait, which may be long */
  async next(signal: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#opened.parts.options
    const nowMs = clock.monotonicMs()
    const waitMs = this.#atMs - nowMs
    this.#atMs = Math.max(this.#atMs, nowMs) + this.#gapMs
    // Timers are no finer than this: between two of them some go together.
    if (waitMs >= 1) await pause(clock, Math.ceil(waitMs), signal)
    this.#opened.parts.life.check()
  }
}
