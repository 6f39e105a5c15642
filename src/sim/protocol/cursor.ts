/** The engine's own Runner and Marks in a given state: they decide the next start and the restart
 * position.
 * Invariant: everything appended is read ahead, trusted or not, so that a start or a position which
 * goes by read entries is found. Equal questions are asked once. */
import { nowhere, position, type Position } from '../../base/position.js'
import { Marks } from '../../lane/marks.js'
import { Runner, type Candidate } from '../../lane/runner.js'
import { envelope } from './content.js'
import { messages, noMarks, type State } from './state.js'

const envelopeBytes = 8

/** The position of an envelope in a lane, by its index; nothing stands at 0. */
export const placeOf = (index: number): Position => position(envelopeBytes * (index + 1))
export const indexOf = (at: Position): number => at / envelopeBytes - 1

/** Indexes in the lane. */
export interface Cursor {
  /** Where the runner may be restarted. */
  readonly position: number
  /** How far it has read. */
  readonly readFrom: number
  /** The envelope that it starts next, and its position then. */
  readonly head: { readonly index: number; readonly after: number } | undefined
}

/** How many entries of a lane are trusted: all of incoming, which is durable; of the other those
 * before the checkpointed end. */
export const trustedCount = (state: State, lane: 0 | 1): number =>
  lane === 0 ? messages.length : state.checkpoint.end

export type Cursors = (state: State, lane: 0 | 1, count: number) => Cursor

/** A runner is asked with so many entries of its lane trusted. */
export function cursors(): Cursors {
  const answers = new Map<string, Cursor>()
  return (state, lane, count) => {
    const marked = lane === 0 ? [] : state.marked
    const entries = lane === 0 ? '' : state.lane.map(({ kind }) => kind[0]).join('')
    const question = `${lane}${state.runners[lane]},${count}${entries}${marked.join()}`
    let answer = answers.get(question)
    if (answer === undefined) answers.set(question, (answer = cursorOf(state, lane, count)))
    return answer
  }
}

function cursorOf(state: State, lane: 0 | 1, count: number): Cursor {
  const marks = new Marks()
  if (lane === 1) for (const index of state.marked) marks.restore(placeOf(index))
  const runner = new Runner(placeOf(state.runners[lane]), marks)
  const entryCount = lane === 0 ? count : state.lane.length
  for (let index = state.runners[lane]; index < entryCount; index++)
    if (lane === 0 || state.lane[index]?.kind === 'envelope') runner.found(candidateAt(index))
  runner.readTo(placeOf(count))
  const standing = { position: indexOf(runner.position), readFrom: indexOf(runner.readFrom) }
  const candidate = runner.peek(placeOf(count))
  if (candidate === undefined) return { ...standing, head: undefined }
  runner.take()
  return { ...standing, head: { index: indexOf(candidate.position), after: indexOf(runner.position) } }
}

/** Marks that were restored from records, and those that are in none yet. */
export function marksOf(restored: Iterable<number>, fresh: Iterable<number>, last: number): Marks {
  const marks = new Marks(last === noMarks ? nowhere : placeOf(last))
  for (const index of restored) marks.restore(placeOf(index))
  for (const index of fresh) marks.add(placeOf(index))
  return marks
}

const candidateAt = (index: number): Candidate => ({
  position: placeOf(index),
  bytes: envelopeBytes,
  timeMs: 0,
  envelope,
  data: undefined,
  seenAtMs: 0,
})
