/** Recovery in the model of the record protocol, when the tail is durable.
 * The engine's own WorkingSet and ActiveMessage fold the suffix; the lane is cut, runners and marks
 * are restored; then each message that was being worked on gets a start that carries what is known.
 * Invariant: only the order of these steps is modelled here; the engine's own code
 * reads the records. */
import { ActiveMessage } from '../../active/active-message.js'
import { nowhere, position, type Position } from '../../base/position.js'
import { isWaybillError } from '../../errors.js'
import type { OutcomeNote } from '../../record/outcome-note.js'
import type { Carried } from '../../record/start.js'
import { WorkingSet, type WorkingMessage } from '../../recovery/working-set.js'
import { captured, fatesAfter } from './checkpoint.js'
import { envelope } from './content.js'
import { indexOf, marksOf, placeOf } from './cursor.js'
import { appended, startCount, type History, type Known, type Outcome } from './history.js'
import type { Rule } from './rules.js'
import type { Step } from './search.js'
import { noMarks, type Active, type State } from './state.js'
import type { Variant } from './variant.js'

/** The steps after a crash. Between scan, carrying starts and capture there are only crashes, which
 * equal crashes at their end that take some of the starts. */
export function recoveries(state: State, variant: Variant): readonly State[] {
  const { without } = variant
  const scanned = recovered(state, without)
  if (scanned.broken !== undefined || without === 'no checkpoint during the recovery scan') return [scanned]
  return [captured(carriedAll(scanned, without), variant)]
}

/** Only where a checkpoint may come between. */
export const recoverySteps = (state: State, without: Rule | undefined): Step<State>[] =>
  state.phase === 'scanning'
    ? [{ name: 'the recovered messages get new starts', next: carriedAll(state, without) }]
    : []

function recovered(state: State, without: Rule | undefined): State {
  const isIgnored = without !== 'lane content behind the checkpointed end is ignored'
  const { checkpoint } = state
  const end = isIgnored ? checkpoint.end : state.lane.length
  const base: State = {
    ...state,
    checkpoint: { ...checkpoint, end },
    fates: fatesAfter(state.fates, state.history),
    lane: state.lane.slice(0, end),
  }
  if (state.lane.length < end) return { ...base, broken: 'the lane is shorter than the checkpoint says' }
  try {
    return restored(base, foldOf(base.history, end), without)
  } catch (error) {
    if (!isWaybillError(error)) throw error
    return { ...base, broken: `recovery refuses the journal: ${error.message}` }
  }
}

/** Frames of 8 bytes, the suffix behind possible earlier records. */
const suffix = position(16)
const frameAt = (at: number): Position => position(suffix + 8 * at)
const beforeTheSuffix = position(8)
/** Inside the suffix, and no frame's. */
const nobodysStart = position(suffix + 4)

function foldOf(history: History, end: number): WorkingSet {
  const working = new WorkingSet({ suffix, trustedEnd: () => placeOf(end) })
  const starts: Position[] = []
  const startAt = (number: number): Position =>
    number >= 0 ? starts[number]! : number === -1 ? beforeTheSuffix : nobodysStart
  history.forEach(({ body }, index) => {
    const at = frameAt(index)
    switch (body.kind) {
      case 'checkpoint':
        return
      case 'start': {
        const { place, carried: before } = body
        working.start(at, place.lane, {
          envelope: placeOf(place.index),
          envelopeBytes: 8,
          outOfOrder: place.outOfOrder,
          carried: before && carriedOf(before, startAt(before.start)),
        })
        starts.push(at)
        return
      }
      case 'delivery':
        return working.delivery(at, {
          start: startAt(body.start),
          notes: notesOf(body.outcome),
          finishes: false,
        })
      case 'finish':
        return working.finish(at, { start: startAt(body.start), reported: [], spool: 0 })
      case 'replaced':
        return working.replaced(at, 1, 0, {
          start: startAt(body.start),
          target: placeOf(body.target),
          targetEnd: placeOf(body.target + 1),
          reported: [],
          warnings: 0,
        })
    }
  })
  return working
}

/** Runners go on behind what was started, and skip what was started out of order. */
function restored(state: State, working: WorkingSet, without: Rule | undefined): State {
  const { checkpoint, lane, history } = state
  const runners = ([0, 1] as const).map((number) => {
    const reached = working.lanes.get(number)?.runner ?? nowhere
    return Math.max(checkpoint.runners[number], indexOf(reached))
  }) as [number, number]
  const recorded = new Set<number>()
  for (let at = checkpoint.marks; at !== noMarks && at >= runners[1];) {
    const entry = lane[at]
    if (entry?.kind !== 'marks') return { ...state, broken: 'there are no marks where the checkpoint says' }
    for (const index of entry.envelopes) if (index >= runners[1]) recorded.add(index)
    at = entry.previous
  }
  const found = (working.lanes.get(1)?.marks ?? []).map(indexOf).filter((index) => index >= runners[1])
  const isLost = without === 'recovered marks are appended again'
  const marks = marksOf(recorded, isLost ? [] : found, checkpoint.marks)
  const starts = history.flatMap(({ body }, index) => (body.kind === 'start' ? [frameAt(index)] : []))
  return {
    ...state,
    runners,
    marked: ascending(new Set([...recorded, ...found])),
    fresh: ascending(marks.takeFresh(Infinity).map(indexOf)),
    marks: checkpoint.marks,
    waiting: [...working.messages].map((message) => revived(message, starts.indexOf(message.start), state)),
  }
}

const ascending = (numbers: Iterable<number>): number[] => [...numbers].sort((a, b) => a - b)

function revived(working: WorkingMessage, start: number, { lane }: State): Active {
  const { place } = working
  const message = new ActiveMessage(envelope, place, working.start, working.carried)
  for (const record of working.records) message.apply(record)
  const index = indexOf(place.position)
  const entry = lane[index]
  const of = place.lane === 0 ? 0 : 1
  return {
    message: of === 0 ? index : entry?.kind === 'envelope' ? entry.message : -1,
    start,
    place: { lane: of, index, outOfOrder: place.outOfOrder },
    outcome: message.stateOf(0) === 'pending' ? 'none' : (message.stateOf(0) as Outcome),
    again: message.replacement !== undefined,
    half: false,
  }
}

/** Each gets a start that replaces the one of an earlier life. */
function carriedAll(state: State, without: Rule | undefined): State {
  const isCarried = without !== "a later recovery does not judge an earlier life's notes"
  let { history } = state
  const active = state.waiting.map((one) => {
    if (!isCarried) return one
    const { message, place, start, outcome, again } = one
    const number = startCount(history)
    history = appended(history, { kind: 'start', message, place, carried: { start, outcome, again } })
    return { ...one, start: number }
  })
  return { ...state, phase: 'carried', history, waiting: [], active }
}

const notesOf = (outcome: Outcome): OutcomeNote[] =>
  outcome === 'none' ? [] : [{ kind: outcome, status: '', text: '', ranges: [0, 0] }]

const carriedOf = ({ outcome, again }: Known, start: Position): Carried => ({
  start,
  notes: notesOf(outcome),
  reported: [],
  warnings: 0,
  recoveries: 0,
  replacement: again ? { lane: 1, timeMs: 0 } : undefined,
})
