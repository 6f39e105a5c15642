/** Finds messages whose start record was lost to damage.
 * Such a message stands behind its lane's runner, or is marked, and is not active.
 * Invariant: a message is reported only if its start must stand in the part that is read, or in the
 * hole before it. Three facts prove that: its envelope stands in that part of the journal, a note
 * there names it, or a runner, which goes in order, started an earlier one there. */
import { position, type Position } from '../../base/position.js'
import { trustedEndIn } from '../../record/checkpoint.js'
import type { WorkingMessage } from '../../recovery/working-set.js'
import { fold, type FoldVisitor } from '../queue/fold.js'
import type { LaneView, Snapshot } from '../queue/snapshot.js'

/** Of one lane. */
interface Trace {
  readonly started: Set<Position>
  /** The first envelope that a note names. */
  noted: number
  /** The first that its runner started. */
  ran: number
}

export class LostStarts {
  /** Started before the suffix; a later start of it, or its end, is lost. */
  readonly working: readonly WorkingMessage[]
  readonly #traces: ReadonlyMap<number, Trace>
  readonly #from: Position

  private constructor(
    working: readonly WorkingMessage[],
    traces: ReadonlyMap<number, Trace>,
    from: Position,
  ) {
    this.working = working
    this.#traces = traces
    this.#from = from
  }

  static async of(snapshot: Snapshot): Promise<LostStarts> {
    const { checkpoint, journal, end } = snapshot
    const traces = new Map<number, Trace>()
    const traceOf = (lane: number): Trace => {
      let trace = traces.get(lane)
      if (trace === undefined)
        traces.set(lane, (trace = { started: new Set(), noted: Infinity, ran: Infinity }))
      return trace
    }
    const visitor: FoldVisitor = {
      start: (lane, { envelope, outOfOrder, carried }) => {
        const trace = traceOf(lane)
        trace.started.add(envelope)
        if (!outOfOrder && carried === undefined) trace.ran = Math.min(trace.ran, envelope)
      },
      replaced: (lane, { target }) => {
        const trace = traceOf(lane)
        trace.noted = Math.min(trace.noted, target)
      },
    }
    const from = wholeFrom(snapshot)
    const trustedEnd = (lane: number): Position | undefined => checkpoint && trustedEndIn(checkpoint, lane)
    const { working } = await fold({ ...journal, end }, { suffix: from, trustedEnd }, ignore, visitor)
    const known = new Set(snapshot.working.map(({ place }) => `${place.lane} ${place.position}`))
    const lost = [...working.messages].filter(({ place }) => !known.has(`${place.lane} ${place.position}`))
    return new LostStarts(lost, traces, from)
  }

  /** In this lane from here on. */
  from(view: LaneView): Position {
    const trace = this.#traces.get(view.lane)
    return position(Math.min(view.checkpointRunner, this.#notedFrom(view), trace?.ran ?? Infinity))
  }

  /** Is the start of this envelope, which stands behind `from`, lost? @param isMarked a record of
   * the lane marks it as started */
  has(view: LaneView, at: Position, isMarked: boolean): boolean {
    if (this.#traces.get(view.lane)?.started.has(at)) return false
    // Marks may be older than the part that is read.
    const isNoted = at >= this.#notedFrom(view)
    return at < view.runner ? isNoted || !isMarked : isNoted && isMarked
  }

  #notedFrom({ lane, inJournal }: LaneView): number {
    return inJournal ? this.#from : (this.#traces.get(lane)?.noted ?? Infinity)
  }
}

/** From here to the suffix no segment is missing. */
function wholeFrom({ journal: { indexes, files }, suffix }: Snapshot): Position {
  const there = new Set(indexes)
  let index = files.grid.indexOf(suffix)
  while (there.has(index - 1)) index--
  return position(Math.min(suffix, files.grid.firstOf(index)))
}

const ignore = (): void => undefined
