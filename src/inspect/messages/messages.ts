/** Lists all messages of a snapshot, some hundreds at a time: first the active ones, then each
 * lane.
 * Invariant: a message that a running relay has moved since the snapshot is left out, not reported
 * as damage. A place that does not verify at a second look, and lies behind the newest runner, is
 * reported and skipped. */
import { ActiveMessage } from '../../active/active-message.js'
import { nowhere, position, type Position } from '../../base/position.js'
import { queueNameOf, type QueueName } from '../../lane/lane.js'
import { EncodedEnvelope } from '../../record/encoded-envelope.js'
import { classAt, kindAt, kinds, timeAt } from '../../record/frame.js'
import { readMarks } from '../../recovery/read-suffix.js'
import type { WorkingMessage } from '../../recovery/working-set.js'
import { damageAt, findingOf, isDamage, type Finding, type Report } from '../damage/finding.js'
import { LostStarts } from './lost-starts.js'
import { MessageContent } from './message-content.js'
import { Presence } from '../queue/stale-damage.js'
import { directoryOf, type QueueDirectory } from '../queue/queue-directory.js'
import { selectsLane, type MetMessage, type QueuedMessage, type Selection } from './queued-message.js'
import type { LaneView, Snapshot } from '../queue/snapshot.js'
import { PiecesAhead, pieceBytes } from '../damage/pieces-ahead.js'
import { readSurviving, type Gap } from '../damage/surviving-frames.js'

/** Messages that are kept apart from a walk at a time. */
export const batchCountMax = 1024
/** Of the log, between two batches: progress is shown, and a walk that finds nothing can be
 * stopped. */
const passedBytesMax = 8 * 1024 * 1024
/** Looks at one place before it counts as damaged. */
const looksMax = 3

export interface MessagesOptions {
  readonly report: Report
  readonly lane?: Selection['lane']
  /** Progress, in bytes of all that is to be read. */
  readonly onProgress?: (doneBytes: number, allBytes: number) => void
}

export class Messages {
  readonly content: MessageContent
  readonly presence: Presence
  readonly #directory: QueueDirectory
  readonly #snapshot: Snapshot
  readonly #options: MessagesOptions
  #doneBytes = 0
  #allBytes = 0

  /** @param snapshot the present one: an earlier one may name recycled segments */
  constructor(directory: QueueDirectory, snapshot: Snapshot, options: MessagesOptions) {
    this.#directory = directory
    this.#snapshot = snapshot
    this.#options = options
    this.content = new MessageContent(directory)
    this.presence = new Presence(directory, snapshot)
  }

  /** A batch may be empty: it is a moment to look up.
   * @param isWanted asked once about each message; one that waits in a lane is decoded only then */
  async *batches(isWanted: Wanted = () => true): AsyncGenerator<readonly QueuedMessage[]> {
    let batch: QueuedMessage[] = []
    const moments = this.walk((met, queued) => {
      if (isWanted(met)) batch.push(queued())
      return batch.length >= batchCountMax
    })
    for await (const _ of moments) {
      yield batch
      batch = []
    }
  }

  /** As `each`. What it yields are moments to look up. */
  async *walk(visit: MessageVisitor): AsyncGenerator<void> {
    const { lanes, working } = this.#snapshot
    const wanted = lanes.filter((lane) => selectsLane(this.#options.lane, queueNameOf(lane.kind), lane.lane))
    this.#allBytes = wanted.reduce((sum, { runner, end }) => sum + Math.max(0, end - runner), 0)
    yield* this.#workings(working, visit, false)
    const lost = this.#snapshot.isDamaged ? await LostStarts.of(this.#snapshot) : undefined
    if (lost !== undefined) yield* this.#workings(lost.working, visit, true)
    for (const lane of wanted) {
      if (lost !== undefined) yield* this.#lost(lane, lost, visit)
      yield* this.#waiting(lane, visit)
    }
  }

  /** Shows each message once. */
  async each(visit: (message: MetMessage) => void): Promise<void> {
    const moments = this.walk((message) => {
      visit(message)
      return false
    })
    for await (const _ of moments);
  }

  async *#workings(
    working: readonly WorkingMessage[],
    visit: MessageVisitor,
    uncertain: boolean,
  ): AsyncGenerator<void> {
    for (const [i, message] of working.entries()) {
      const found = await this.#working(message, uncertain)
      const isOfLane = found !== undefined && selectsLane(this.#options.lane, found.where, found.lane)
      const isDue = isOfLane && visit(found, () => found)
      if (isDue || i % batchCountMax === batchCountMax - 1) yield
    }
    yield
  }

  async #working(working: WorkingMessage, uncertain: boolean): Promise<QueuedMessage | undefined> {
    const { place } = working
    const log = this.#snapshot.lanes.find(({ lane }) => lane === place.lane)?.log ?? `${place.lane}/envelopes`
    try {
      const envelope = await this.content.envelope(log, place)
      const active = new ActiveMessage(envelope, place, working.start, working.carried)
      for (const record of working.records) active.apply(record)
      const located = { envelope, log, lane: place.lane, at: place.position, uncertain }
      return activeMessage(active, located, this.#snapshot)
    } catch (error) {
      if (!isDamage(error)) throw error
      // A message that ended long ago may have no place any more.
      if (uncertain || !(await this.presence.isThere(place.lane, place.position))) return undefined
      const files = this.#directory.log(log)
      this.#options.report(findingOf(error, files.placeOf(place.position), 'an active message'))
      return undefined
    }
  }

  async *#waiting(view: LaneView, visit: MessageVisitor): AsyncGenerator<void> {
    const waits = (at: Position): boolean => !view.marks.has(at)
    yield* this.#stretch(view, view.runner, view.end, { waits, visit, uncertain: false })
  }

  /** Envelopes without a known start that do not wait: damage took the start. */
  async *#lost(view: LaneView, lost: LostStarts, visit: MessageVisitor): AsyncGenerator<void> {
    const from = lost.from(view)
    const marked = new Set(view.marks)
    try {
      for (const mark of await readMarks(this.content.log(view.log), view.marksRecord, from)) marked.add(mark)
    } catch (error) {
      if (!isDamage(error)) throw error
    }
    const end = [...marked].some((mark) => mark >= view.runner) ? view.end : view.runner
    const waits = (at: Position): boolean => lost.has(view, at, marked.has(at))
    yield* this.#stretch(view, from, end, { waits, visit, uncertain: true })
  }

  async *#stretch(
    view: LaneView,
    from: Position,
    end: Position,
    { waits, visit, uncertain }: StretchWalk,
  ): AsyncGenerator<void> {
    const files = this.#directory.log(view.log)
    const { grid } = files
    const endOf = view.inJournal
      ? this.#snapshot.journal.endOf
      : async (index: number): Promise<Position> => grid.at(index, grid.segmentBytes)
    const base = this.#doneBytes
    const met = new Met(view, uncertain)
    const reused = Buffer.allocUnsafeSlow(Math.min(pieceBytes, Math.max(0, end - from)))
    const ahead = new PiecesAhead()
    let at = from
    let looks = 0
    while (at < end) {
      const findings: Finding[] = []
      const begin = at
      at = await readSurviving(files, {
        from: at,
        end,
        endOf,
        window: reused,
        ahead,
        visit: (window, windowAt, place) => {
          const isFar = place - begin >= passedBytesMax
          if (kindAt(window, windowAt) !== kinds.envelope || classAt(window, windowAt) !== view.lane)
            return isFar
          if (!waits(place)) return isFar
          try {
            met.aim(window, windowAt, place)
            return visit(met, met.queued) || isFar
          } catch (error) {
            if (!isDamage(error)) throw error
            findings.push(findingOf(error, files.placeOf(place), 'a message'))
            return isFar
          }
        },
        onGap: async (gap) => {
          if (uncertain) return gap.to
          await files.forget(grid.indexOf(gap.from))
          ahead.forget()
          const runner = (await this.presence.runnerOf(view.lane)) ?? end
          if (runner > gap.from) return position(Math.min(runner, end))
          if (++looks < looksMax && !(await this.presence.isStill())) return gap.from
          looks = 0
          findings.push(laneDamage(view, gap, files))
          return gap.to
        },
      })
      for (const finding of findings) this.#options.report(finding)
      this.#doneBytes = base + (uncertain ? 0 : at - from)
      this.#options.onProgress?.(this.#doneBytes, this.#allBytes)
      yield
    }
    for (const index of await this.#directory.segments(directoryOf(view.log))) await files.forget(index)
  }
}

const laneDamage = (view: LaneView, gap: Gap, files: Parameters<typeof damageAt>[0]): Finding =>
  damageAt(files, gap.from, gap.to - gap.from, gap.reason, `mail that waits in lane ${view.lane}`)

type Wanted = (message: MetMessage) => boolean

/** @param message valid until it returns
 * @param queued all of it, apart from the walk; throws WaybillError LOG_CORRUPT
 * @returns whether a moment to look up is due */
type MessageVisitor = (message: MetMessage, queued: () => QueuedMessage) => boolean

interface StretchWalk {
  /** Does the message at this place wait? */
  readonly waits: (at: Position) => boolean
  readonly visit: MessageVisitor
  readonly uncertain: boolean
}

/** The message of a lane at which a walk stands. */
class Met implements MetMessage {
  readonly envelope: EncodedEnvelope = new EncodedEnvelope()
  readonly where: QueueName
  readonly lane: number
  readonly waiting: undefined
  readonly active: undefined
  readonly uncertain: boolean
  readonly #view: LaneView
  #at: Position = nowhere
  #timeMs = 0

  constructor(view: LaneView, uncertain: boolean) {
    this.where = queueNameOf(view.kind)
    this.lane = view.lane
    this.#view = view
    this.uncertain = uncertain || view.isGuessed
  }

  /** @throws WaybillError LOG_CORRUPT */
  aim(window: Buffer, windowAt: number, at: Position): void {
    this.envelope.aim(window, windowAt)
    this.#timeMs = timeAt(window, windowAt)
    this.#at = at
  }

  get waitingCount(): number {
    return this.envelope.recipientCount
  }

  get dueAt(): number {
    const { kind, intervalMs } = this.#view
    return Math.max(this.envelope.terms?.notBefore ?? 0, kind === 'incoming' ? 0 : this.#timeMs + intervalMs)
  }

  /** Apart from the walk. */
  readonly queued = (): QueuedMessage => {
    const { where, lane, waiting, waitingCount, dueAt, active, uncertain } = this
    const envelope = this.envelope.decode()
    return {
      envelope,
      log: this.#view.log,
      lane,
      at: this.#at,
      where,
      dueAt,
      waiting,
      waitingCount,
      notes: envelope.notes,
      active,
      uncertain,
    }
  }
}

/** A message whose replacement is not trusted yet already waits in that lane, as seen from
 * outside. */
function activeMessage(
  active: ActiveMessage,
  located: Pick<QueuedMessage, 'envelope' | 'log' | 'lane' | 'at' | 'uncertain'>,
  { lanes }: Snapshot,
): QueuedMessage {
  const { replacement, pendingCount, deferredCount } = active
  const target = replacement === undefined ? undefined : lanes.find(({ lane }) => lane === replacement.lane)
  const waiting = [...active.indexesIn('pending'), ...active.indexesIn('deferred')].sort((a, b) => a - b)
  return {
    ...located,
    where: target === undefined ? 'active' : queueNameOf(target.kind),
    dueAt: Math.max(
      located.envelope.terms?.notBefore ?? 0,
      target === undefined ? 0 : replacement!.timeMs + target.intervalMs,
    ),
    waiting,
    waitingCount: pendingCount + deferredCount,
    notes: deferredCount > 0 ? active.notesOf('deferred') : located.envelope.notes,
    active,
  }
}
