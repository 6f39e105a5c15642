/** A listing in pages, for clients that come back for more.
 * Invariant: a page costs a bounded time and bounded memory, however many messages the queue has
 * and however few match; a cursor is an id or a place in a log, never a number of messages to pass
 * over. Messages that move between two pages are listed twice or not at all; all others once. */
import type { Clock } from '../../base/clock.js'
import { isMessageId, type MessageId } from '../../base/message-id.js'
import { checkOptionNames, integerOption, signalOption } from '../../base/options.js'
import { position, type Position } from '../../base/position.js'
import { isWaybillError, WaybillError } from '../../errors.js'
import type { Lane } from '../../lane/lane.js'
import type { Engine } from '../../engine/engine.js'
import type { Parts } from '../../engine/life/parts.js'
import { Stretch, type WantedTest } from '../../engine/start/waiting-messages.js'
import { pinForReading } from '../../engine/checkpoint/pinning.js'
import type { EnvelopeFacts } from '../../record/encoded-envelope.js'
import {
  checkAborted,
  listedMessage,
  matchesActive,
  matchesWaiting,
  soonAtLeast,
  type ListedMessage,
  type Selected,
} from './listing.js'
import {
  checkSelector,
  firstTest,
  selectsActive,
  selectsLane,
  selectsUnread,
  type Selector,
} from './selector.js'
import { checkAllRead, WalkDamage } from './walk-damage.js'

export interface PageOptions {
  /** `next` of the page before. Default: the first page. */
  readonly after?: string | undefined
  /** The most messages of a page, 1 … 1000. Default 100. */
  readonly max?: number | undefined
  /** The most messages that are compared for a page, 1 … 1 000 000. Default 20 000. */
  readonly lookMax?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ListPage {
  /** At most `max` messages. There may be fewer, or none, although more match: as long as `next`
   * is defined. */
  readonly messages: readonly ListedMessage[]
  /** Where the next page begins; undefined behind the last one. Valid in every life of the
   * queue. */
  readonly next: string | undefined
  /** Messages that were compared with the selector. */
  readonly lookedAtCount: number
  /** The first error of messages that could not be read, and are not listed. */
  readonly damage: WaybillError | undefined
}

/** A page takes no longer than this, when something was looked at. */
const pageMs = 200

/** The last message that was looked at: a page begins behind it. An active one has its id here,
 * because segment cleaning changes its place. */
type Cursor =
  | { readonly among: 'active'; readonly id: MessageId }
  | { readonly among: 'waiting'; readonly lane: number; readonly at: Position }

const waitingPattern = /^w(\d{1,9})\.(\d{1,16})$/

const textOf = (cursor: Cursor): string =>
  cursor.among === 'active' ? `a${cursor.id}` : `w${cursor.lane}.${cursor.at}`

/** @throws WaybillError OPTION_INVALID */
function cursorIn(text: string): Cursor {
  if (typeof text !== 'string') throw noCursor()
  const id = text.slice(1)
  if (text.startsWith('a') && isMessageId(id)) return { among: 'active', id }
  const [, lane, at] = waitingPattern.exec(text) ?? []
  if (lane === undefined || !Number.isSafeInteger(Number(at))) throw noCursor()
  return { among: 'waiting', lane: Number(lane), at: position(Number(at)) }
}

const noCursor = (): WaybillError =>
  new WaybillError('OPTION_INVALID', 'a page begins behind `next` of another one', { option: 'after' })

/** @throws WaybillError by rejection: OPTION_INVALID, VERB_ABORTED, QUEUE_CRASHED, DISK_FULL while
 * a recovery waits for room */
export async function page(
  parts: Parts,
  engine: Engine,
  selector: Selector,
  options: PageOptions,
): Promise<ListPage> {
  checkOptionNames(options, { after: true, max: true, lookMax: true, signal: true })
  checkSelector(selector)
  const { after, max = 100, lookMax = 20_000, signal } = options
  signalOption(signal)
  integerOption('max', max, 1, 1000)
  integerOption('lookMax', lookMax, 1, 1_000_000)
  const cursor = after === undefined ? undefined : cursorIn(after)
  await parts.life.orEnd(engine.whenRecovered())
  const made = new Page(parts, selector, { max, lookMax, signal })
  if (cursor?.among !== 'waiting') await made.addActive(cursor)
  const trust = (): Promise<void> => soonAtLeast(parts, engine.checkpointer.now())
  for (const lane of lanesFrom(parts, selector, cursor)) {
    if (made.next !== undefined) break
    await made.addWaiting(lane, cursor, trust)
  }
  return made.result
}

/** Lanes by number, from the cursor's on. */
function lanesFrom(parts: Parts, selector: Selector, cursor: Cursor | undefined): Lane[] {
  const first = cursor?.among === 'waiting' ? cursor.lane : -1
  return Array.from(parts.lanes)
    .filter((lane) => lane.number >= first && !lane.isRetired && selectsLane(selector, lane))
    .sort((a, b) => a.number - b.number)
}

/** Messages between two looks at the clock. */
const untimedCount = 256

/** Passes over the messages of a lane that do not match, except where the page may end: a cursor is
 * the place of one that was looked at. */
class Passing {
  readonly #mayMatch: (envelope: EnvelopeFacts) => boolean
  readonly #clock: Clock
  readonly #from: Position | undefined
  readonly #untilMs: number
  #left: number
  #passedCount = 0
  readonly #passedBefore = new Map<Position, number>()

  /** @param bounds `from` is not looked at again */
  constructor(
    { options }: Parts,
    selector: Selector,
    bounds: { readonly from: Position | undefined; readonly lookMax: number; readonly untilMs: number },
  ) {
    this.#mayMatch = firstTest(selector, options.clock.wallMs())
    this.#clock = options.clock
    this.#from = bounds.from
    this.#left = bounds.lookMax
    this.#untilMs = bounds.untilMs
  }

  readonly isWanted: WantedTest = (envelope, at) => {
    if (at === this.#from) return false
    this.#left--
    if (!this.#mayEnd && !this.#mayMatch(envelope)) {
      this.#passedCount++
      return false
    }
    this.#passedBefore.set(at, this.#passedCount)
    this.#passedCount = 0
    return true
  }

  /** Messages that were passed over between this wanted one and the one before it. */
  countBefore(at: Position): number {
    const count = this.#passedBefore.get(at)!
    this.#passedBefore.delete(at)
    return count
  }

  /** The same behind the last wanted one. */
  get countAtEnd(): number {
    return this.#passedCount
  }

  get #mayEnd(): boolean {
    if (this.#left <= 0) return true
    const isTimed = this.#passedCount % untimedCount === untimedCount - 1
    return isTimed && this.#clock.monotonicMs() >= this.#untilMs
  }
}

/** The page that is being made. */
class Page {
  readonly #parts: Parts
  readonly #selector: Selector
  readonly #max: number
  readonly #lookMax: number
  readonly #signal: AbortSignal | undefined
  readonly #untilMs: number
  readonly #damage: WalkDamage
  readonly #messages: ListedMessage[] = []
  #lookedAtCount = 0
  #next: Cursor | undefined

  constructor(
    parts: Parts,
    selector: Selector,
    { max, lookMax, signal }: { max: number; lookMax: number; signal: AbortSignal | undefined },
  ) {
    this.#parts = parts
    this.#selector = selector
    this.#max = max
    this.#lookMax = lookMax
    this.#signal = signal
    this.#untilMs = parts.options.clock.monotonicMs() + pageMs
    this.#damage = new WalkDamage(parts.life)
  }

  get next(): Cursor | undefined {
    return this.#next
  }

  get result(): ListPage {
    const next = this.#next === undefined ? undefined : textOf(this.#next)
    return {
      messages: this.#messages,
      next,
      lookedAtCount: this.#lookedAtCount,
      damage: this.#damageWhen(next === undefined),
    }
  }

  /** Active messages in the order of their ids. */
  async addActive(cursor: Cursor | undefined): Promise<void> {
    if (!selectsActive(this.#selector)) return
    const behind = cursor?.among === 'active' ? cursor.id : ''
    const { active } = this.#parts
    const listed = Array.from(active.messages())
      .filter(({ envelope }) => envelope.id > behind)
      .sort((a, b) => (a.envelope.id < b.envelope.id ? -1 : 1))
    for (const message of listed) {
      // Ended, or moved to a lane, while those before it were read: nothing holds what it needs.
      if (!active.has(message)) continue
      const unpin = pinForReading(this.#parts, message)
      try {
        await this.#look({ kind: 'active', message }, matchesActive(this.#parts, message, this.#selector))
      } finally {
        unpin()
      }
      if (!this.#isFull) continue
      this.#next = { among: 'active', id: message.envelope.id }
      return
    }
  }

  /** Of one lane, in the order in which they are due. */
  async addWaiting(lane: Lane, cursor: Cursor | undefined, trust: () => Promise<void>): Promise<void> {
    const from = cursor?.among === 'waiting' && cursor.lane === lane.number ? cursor.at : undefined
    if (from !== undefined && !(await this.#isPlace(lane, from))) throw noCursor()
    const stretch = new Stretch(this.#parts, lane, from)
    const passing = new Passing(this.#parts, this.#selector, {
      from,
      lookMax: this.#lookMax - this.#lookedAtCount,
      untilMs: this.#untilMs,
    })
    try {
      for await (const batch of stretch.batches(trust, passing.isWanted)) {
        checkAborted(this.#signal)
        for (const message of batch) {
          const { position: at } = message.place
          this.#lookedAtCount += passing.countBefore(at)
          const isMatch = matchesWaiting(this.#parts, message, this.#selector)
          await this.#look({ kind: 'waiting', lane, message }, isMatch)
          if (!this.#isFull) continue
          this.#next = { among: 'waiting', lane: lane.number, at }
          return
        }
      }
    } catch (error) {
      // The other lanes go on.
      this.#damage.meet(error)
    } finally {
      stretch.end()
    }
    this.#lookedAtCount += passing.countAtEnd
  }

  async #look(found: Selected, isMatch: boolean | Promise<boolean>): Promise<void> {
    this.#lookedAtCount++
    const { id } = found.message.envelope
    if ((await this.#damage.of(id, isMatch)) !== true) return
    const listed = await this.#damage.of(id, listedMessage(this.#parts, found))
    if (listed !== undefined) this.#messages.push(listed)
  }

  get #isFull(): boolean {
    checkAborted(this.#signal)
    return (
      this.#messages.length >= this.#max ||
      this.#lookedAtCount >= this.#lookMax ||
      this.#parts.options.clock.monotonicMs() >= this.#untilMs
    )
  }

  /** Does a message of the lane stand there, or did one before the runner passed it? What a client
   * makes up would be met as damage. */
  async #isPlace(lane: Lane, at: Position): Promise<boolean> {
    const { journal, life } = this.#parts
    const log = lane.logs?.envelopes ?? journal
    if (at < lane.runner.position) return true
    if (at >= log.end) return false
    try {
      const frame = await life.orEnd(log.files.frame(at))
      return frame.kind === 'envelope' && frame.lane === lane.number
    } catch (error) {
      if (isWaybillError(error, 'LOG_CORRUPT')) return false
      throw error
    }
  }

  #damageWhen(isLast: boolean): WaybillError | undefined {
    try {
      this.#damage.tell()
      if (isLast && selectsUnread(this.#selector)) checkAllRead(this.#parts)
      return undefined
    } catch (error) {
      if (isWaybillError(error)) return error
      throw error
    }
  }
}
