/** A checkpoint in its steps: capture · lane sync · record · durable: trust, release, recycle.
 * Invariant: one is under way at a time, and none before recovery has ended. */
import { SegmentPins } from '../../garbage/pins.js'
import { indexOf, marksOf, trustedCount } from './cursor.js'
import { appended, beforeSuffix, onDisk, startCount, suffixOf, type Place } from './history.js'
import type { Rule } from './rules.js'
import type { Step } from './search.js'
import type { Facts, Fate, LaneEntry, Pending, State } from './state.js'
import type { Variant } from './variant.js'

export function checkpointSteps(state: State, variant: Variant): Step<State>[] {
  const { without } = variant
  const { pending, phase } = state
  if (phase === 'scanning' && without !== 'no checkpoint during the recovery scan') return []
  if (pending === undefined) return [{ name: 'a checkpoint is captured', next: captured(state, variant) }]
  const steps: Step<State>[] = []
  if (!pending.isSynced) steps.push(...syncs(state, pending, without))
  if (
    !pending.isAppended &&
    (pending.isSynced || without === 'the checkpoint record comes after the lane sync')
  )
    steps.push({ name: 'the checkpoint record is appended', next: recorded(state, pending, without) })
  if (pending.isSynced && pending.isAppended)
    steps.push({ name: 'the checkpoint is durable', next: confirmed(state, pending, without) })
  return steps
}

export function captured(state: State, { without, cursorOf }: Variant): State {
  const cursors = ([0, 1] as const).map((lane) => cursorOf(state, lane, trustedCount(state, lane)))
  const runners = pair(cursors.map(({ position }) => position))
  const isAhead = without === 'the runner position counts only what has a start record'
  const before = { end: state.lane.length, marks: state.marks }
  const marked = withMarks(state)
  const isLate = without === 'marks are captured with the end'
  const facts: Facts = {
    suffix: suffixStart(state),
    runners: isAhead ? pair(cursors.map(({ readFrom }) => readFrom)) : runners,
    ...(isLate ? before : { end: marked.lane.length, marks: marked.marks }),
  }
  const released = state.released
  return {
    ...marked,
    runners,
    marked: state.marked.filter((mark) => mark >= runners[1]),
    released: [],
    pending: { facts, released, isSynced: false, isAppended: false },
  }
}

/** The earliest start of an active message, or the next one to come. */
const suffixStart = ({ active, history }: State): number =>
  Math.min(startCount(history), ...active.map(({ start }) => start))

/** Appends the marks that are in no record yet. */
function withMarks(state: State): State {
  if (state.fresh.length === 0) return state
  const { marked, fresh } = state
  const known = marked.filter((index) => !fresh.includes(index))
  const envelopes = marksOf(known, fresh, state.marks).takeFresh(Infinity).map(indexOf)
  const entry: LaneEntry = { kind: 'marks', disk: 'dirty', previous: state.marks, envelopes }
  return { ...state, lane: [...state.lane, entry], fresh: [], marks: state.lane.length }
}

function syncs(state: State, pending: Pending, without: Rule | undefined): Step<State>[] {
  const after = (lane: State['lane']): State => ({ ...state, lane, pending: { ...pending, isSynced: true } })
  const steps = [{ name: 'the lane is synced', next: after(synced(state.lane)) }]
  if (without === 'a failed lane sync ends the life' && isDirty(state))
    steps.push({
      name: 'the sync of the lane fails, and the life goes on',
      next: after(unsynced(state.lane)),
    })
  return steps
}

function recorded(state: State, pending: Pending, without: Rule | undefined): State {
  const isLate = without === 'the suffix start is that of the capture'
  const facts = isLate ? { ...pending.facts, suffix: suffixStart(state) } : pending.facts
  return {
    ...state,
    history: appended(state.history, { kind: 'checkpoint', facts }),
    pending: { ...pending, facts, isAppended: true },
  }
}

export const isDirty = ({ lane }: State): boolean => lane.some(({ disk }) => disk === 'dirty')

export const synced = (lane: State['lane']): State['lane'] =>
  lane.map((entry) => (entry.disk === 'dirty' ? { ...entry, disk: 'durable' } : entry))

/** The kernel reports the failure once, and calls the pages clean. */
export const unsynced = (lane: State['lane']): State['lane'] =>
  lane.map((entry) => (entry.disk === 'dirty' ? { ...entry, disk: 'limbo' } : entry))

/** It is durable: the lane is trusted further, and segments given up before the
 * capture are recycled. */
function confirmed(state: State, pending: Pending, without: Rule | undefined): State {
  const { facts, released } = pending
  const shift = <T extends { start: number }>(one: T): T => ({
    ...one,
    start: Math.max(beforeSuffix, one.start - facts.suffix),
  })
  const isLate = without === 'pins are those of the capture'
  const at = state.history.findIndex(({ body }) => body.kind === 'checkpoint')
  const history = [...onDisk(state.history.slice(0, at + 1), 'durable'), ...state.history.slice(at + 1)]
  return {
    ...learnedDurable({ ...state, history }),
    phase: state.phase === 'carried' ? 'running' : state.phase,
    active: state.active.map(shift),
    waiting: state.waiting.map(shift),
    pending: undefined,
    gone: recycled(state, isLate ? [...released, ...state.released] : released, facts),
    released: isLate ? [] : state.released,
  }
}

/** The life learns what is durable; a durable checkpoint is the newest, and nothing before its
 * suffix will be read again. */
export function learnedDurable(state: State): State {
  const fates = fatesAfter(
    state.fates,
    state.history.filter(({ disk }) => disk === 'durable'),
  )
  const found = state.history.find(({ body }) => body.kind === 'checkpoint')
  if (found?.body.kind !== 'checkpoint' || found.disk !== 'durable') return { ...state, fates }
  const { facts } = found.body
  const others = state.history.filter((entry) => entry !== found)
  return { ...state, fates, history: suffixOf(others, facts.suffix), checkpoint: { ...facts, suffix: 0 } }
}

/** The segments that the pins release. A segment holds one envelope, so both have the same
 * index. */
function recycled(state: State, released: readonly Place[], { runners }: Facts): State['gone'] {
  const gone = ([0, 1] as const).map((lane) => {
    const pins = new SegmentPins()
    const existing = lane === 0 ? 2 : state.lane.length
    for (let index = 0; index < existing; index++) if (!state.gone[lane].includes(index)) pins.add(index)
    const held = [...state.active.map(({ place }) => place), ...state.released]
    const given = state.pending?.released ?? []
    for (const place of [...held, ...given]) if (place.lane === lane) pins.pin(place.index)
    // Each given up once: as `SegmentPins.capture` says it.
    const indexes = released.filter((place) => place.lane === lane).flatMap(({ index }) => [index, 1])
    return [...state.gone[lane], ...pins.confirm(indexes, runners[lane])].sort((a, b) => a - b)
  })
  return pair(gone)
}

/** The durable or trusted facts about the messages. */
export function fatesAfter(fates: State['fates'], history: State['history']): State['fates'] {
  const after: [Fate, Fate] = [...fates]
  for (const { body } of history) {
    if (body.kind === 'finish') after[body.message as 0 | 1] = 'finished'
    else if (
      body.kind === 'delivery' &&
      body.outcome === 'delivered' &&
      after[body.message as 0 | 1] === 'pending'
    )
      after[body.message as 0 | 1] = 'delivered'
  }
  return after
}

const pair = <T>(list: readonly T[]): readonly [T, T] => [list[0]!, list[1]!]
