/** Walks the messages that a selector matches and gives each the verb's order.
 * Invariant: a message counts once, when the verb's effect on it is durable. Messages that move
 * meanwhile are searched again, in a few passes. An unreadable message ends no pass. */
import { nowhere } from '../../base/position.js'
import { ActiveMessage, type EnvelopePlace } from '../../active/active-message.js'
import type { ActiveSet } from '../../active/active-set.js'
import { hasManyMarks } from '../../engine/checkpoint/capture.js'
import { selected, type Selected } from '../select/listing.js'
import type { OpenedEngine } from '../../engine/open.js'
import type { Order } from '../../engine/settle/orders.js'
import { selectsUnread, type Selector } from '../select/selector.js'
import { WalkDamage } from '../select/walk-damage.js'
import { isWaybillError } from '../../errors.js'
import type { Lane } from '../../lane/lane.js'
import type { Tally, VerbResult } from './tally.js'

export interface Verb {
  /** The order for a message; undefined: nothing to do. */
  readonly orderFor: (found: Selected) => Order | undefined
  /** Lanes that are looked at. */
  readonly isAsked?: (lane: Lane) => boolean
}

/** Passes over the queue, for messages that moved meanwhile; and the bound of those remembered. */
const passesMax = 3
const movedMax = 100_000
/** Ended messages that an index may name beside as many as are active. */
const endedMax = 1000

/** Walks through the queue and gives the order for each match. All effects are durable
 * when it settles. */
export async function goThrough(
  opened: OpenedEngine,
  selector: Selector,
  verb: Verb,
  tally: Tally,
): Promise<VerbResult> {
  const { parts, engine } = opened
  await engine.whenRecovered()
  const damage = new WalkDamage(parts.life)
  try {
    await passes(opened, selector, verb, { tally, damage })
    if (selectsUnread(selector)) tally.failedCount += unreadCount(opened, verb)
    damage.tell()
  } finally {
    // Also when it is aborted: counted messages are durable.
    if (!parts.life.isOver) {
      await parts.journal.whenDurable(parts.journal.end)
      await engine.checkpoint()
    }
  }
  return tally.result
}

/** Messages that recovery could not read, from lanes that are looked at: the verb
 * cannot act on them. */
export function unreadCount(
  { parts: { active, lanes } }: OpenedEngine,
  { isAsked = () => true }: Verb,
): number {
  let count = 0
  for (const [, { place }] of active.damaged()) if (isAsked(lanes.get(place.lane))) count++
  return count
}

/** The result of a verb. */
interface Course {
  readonly tally: Tally
  /** Thrown when all other messages are done. */
  readonly damage: WalkDamage
}

async function passes(opened: OpenedEngine, selector: Selector, verb: Verb, course: Course): Promise<void> {
  const { tally } = course
  let moved = new Set<string>()
  for (let pass = 1; pass === 1 || (moved.size > 0 && pass <= passesMax); pass++) {
    const looked = pass === 1 ? undefined : moved
    moved = new Set()
    // No verb acts on mail whose submitter has not heard of it.
    opened.engine.accept.settleDurable()
    await new Pass(opened, selector, verb, course, looked, moved).run()
    // A searched message that is not found has ended: it stays missed. One that moved again is
    // counted by the next pass.
    if (pass < passesMax) tally.missedCount -= moved.size
    tally.missedCount += looked?.size ?? 0
  }
}

/** Once through the queue. */
class Pass {
  readonly #opened: OpenedEngine
  readonly #selector: Selector
  readonly #verb: Verb
  readonly #tally: Tally
  readonly #damage: WalkDamage
  /** Only these, by id, as long as they were not met. */
  readonly #looked: Set<string> | undefined
  readonly #moved: Set<string>
  readonly #started: ActiveByPlace
  /** Those that wait for attempts under way. */
  readonly #active: Promise<void>[] = []

  constructor(
    opened: OpenedEngine,
    selector: Selector,
    verb: Verb,
    { tally, damage }: Course,
    looked: Set<string> | undefined,
    moved: Set<string>,
  ) {
    this.#opened = opened
    this.#selector = selector
    this.#verb = verb
    this.#tally = tally
    this.#damage = damage
    this.#looked = looked
    this.#moved = moved
    this.#started = new ActiveByPlace(opened.parts.active)
  }

  async run(): Promise<void> {
    const { parts, engine } = this.#opened
    const trust = (): Promise<void> => engine.checkpoint()
    const { signal } = this.#tally
    const batches = selected(parts, this.#selector, {
      trust,
      isAsked: this.#verb.isAsked,
      signal,
      damage: this.#damage,
    })
    try {
      for (let next = batches.next(); ;) {
        const { value: batch, done } = await next
        if (done === true) break
        await this.#carryOutAll(batch)
        // The next one is read while this one becomes durable.
        next = batches.next()
        next.catch(() => undefined)
        await this.#madeDurable()
        this.#tally.pause()
      }
    } catch (error) {
      this.#damage.meet(error)
    } finally {
      await batches.return(undefined)
      // An attempt may take long: an aborted verb does not wait for it.
      await this.#tally.orAborted(Promise.all(this.#active))
    }
    this.#tally.pause()
  }

  async #carryOutAll(batch: readonly Selected[]): Promise<void> {
    const done = await Promise.allSettled(batch.map((found) => this.#one(found)))
    for (const one of done) if (one.status === 'rejected') throw one.reason
  }

  /** This bounds memory by two batches, and the disk sets the pace. */
  async #madeDurable(): Promise<void> {
    const { journal } = this.#opened.parts
    await journal.whenDurable(journal.end)
    await this.#recordMarks()
  }

  async #one(found: Selected): Promise<void> {
    const { id } = found.message.envelope
    if (this.#looked?.delete(id) === false) return
    const order = this.#verb.orderFor(found)
    if (order === undefined) return
    if (found.kind === 'active') this.#orderActive(found.message, order)
    else await this.#orderWaiting(found, order)
  }

  /** Attempts under way are waited for later. */
  #orderActive(message: ActiveMessage, order: Order): void {
    const counted = this.#count(message, this.#opened.engine.order(message, order))
    // This life may end before that.
    counted.catch(() => undefined)
    this.#active.push(counted)
  }

  async #orderWaiting({ message }: Selected & { kind: 'waiting' }, order: Order): Promise<void> {
    const { envelope, place } = message
    const carried = new ActiveMessage(envelope, place, nowhere, undefined)
    await this.#count(carried, this.#carryOut(carried, order))
  }

  /** @returns undefined when it has been started since it was read, and the order is for that */
  async #carryOut(message: ActiveMessage, order: Order): Promise<boolean | undefined> {
    const { engine, parts } = this.#opened
    const { envelope, place } = message
    try {
      if (await engine.settle.carryOut(message, order)) return true
    } catch (error) {
      if (isWaybillError(error) && !parts.life.isOver && error.code !== 'DISK_FULL')
        parts.events.emit('warning', { code: error.code, message: error.message, id: envelope.id })
      throw error
    }
    const started = this.#started.at(place)
    if (started === undefined) return false
    this.#orderActive(started, order)
    return undefined
  }

  async #count(message: ActiveMessage, carriedOut: Promise<boolean | undefined>): Promise<void> {
    try {
      const isCarriedOut = await carriedOut
      if (isCarriedOut === true) this.#tally.done(message.pendingCount + message.deferredCount)
      if (isCarriedOut !== false) return
      this.#tally.missedCount++
      if (this.#moved.size < movedMax) this.#moved.add(message.envelope.id)
    } catch (error) {
      // An error of one message is counted; an error of all ends the verb.
      if (this.#opened.parts.life.isOver || !isWaybillError(error) || error.code === 'DISK_FULL') throw error
      this.#tally.failedCount++
    }
  }

  /** A checkpoint's marks must fit their lane. */
  async #recordMarks(): Promise<void> {
    const { parts, engine } = this.#opened
    for (const lane of parts.lanes) if (hasManyMarks(parts, lane)) await engine.checkpoint()
  }
}

/** Finds active messages by the places of their envelopes. A verb beside full load misses hundreds
 * of a batch: each of them would be searched among all. */
class ActiveByPlace {
  readonly #active: ActiveSet
  readonly #messages = new Map<string, ActiveMessage>()
  /** Of the newest message that is known here. */
  #start = nowhere

  constructor(active: ActiveSet) {
    this.#active = active
  }

  at(place: EnvelopePlace): ActiveMessage | undefined {
    const known = this.#start
    for (const message of this.#active.startedBehind(known)) {
      this.#messages.set(keyOf(message.place), message)
      if (message.start > this.#start) this.#start = message.start
    }
    if (this.#messages.size > 2 * this.#active.count + endedMax) this.#forgetEnded()
    const message = this.#messages.get(keyOf(place))
    return message !== undefined && this.#active.has(message) ? message : undefined
  }

  #forgetEnded(): void {
    for (const [key, message] of this.#messages) if (!this.#active.has(message)) this.#messages.delete(key)
  }
}

const keyOf = ({ lane, position }: EnvelopePlace): string => `${lane} ${position}`
