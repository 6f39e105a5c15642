/** A life while its runners go: messages are started, attempted once per start, and finished or
 * replaced.
 * Invariant: actions without a wait between them are one step. An attempt with the end that follows
 * is one step, too: a capture between them would add nothing to the start, and a crash may cut the
 * journal between any two records. */
import { appended, startCount, type Body, type Known, type Place } from './history.js'
import { trustedCount } from './cursor.js'
import type { Rule } from './rules.js'
import type { Step } from './search.js'
import type { Active, State } from './state.js'
import type { Variant } from './variant.js'

/** A message is deferred at most so often. */
const deferralsMax = 1

export function lifeSteps(state: State, variant: Variant): Step<State>[] {
  if (state.phase !== 'running') return []
  const { without } = variant
  const steps = startsInOrder(state, variant)
  steps.push(...startsOutOfOrder(state, without))
  for (const active of state.active) steps.push(...ends(state, active, without))
  return steps
}

function trusted(state: State, lane: 0 | 1, without: Rule | undefined): number {
  const isIgnored = without === 'nothing is started behind the checkpointed end'
  return lane === 1 && isIgnored ? state.lane.length : trustedCount(state, lane)
}

function startsInOrder(state: State, { without, cursorOf }: Variant): Step<State>[] {
  const steps: Step<State>[] = []
  for (const lane of [0, 1] as const) {
    const { head } = cursorOf(state, lane, trusted(state, lane, without))
    if (head === undefined) continue
    const { index, after } = head
    const runners: State['runners'] = lane === 0 ? [after, state.runners[1]] : [state.runners[0], after]
    const marked = lane === 0 ? state.marked : state.marked.filter((mark) => mark >= after)
    steps.push({
      name: `the runner of ${laneNames[lane]} starts message ${messageAt(state, lane, index)}`,
      next: started({ ...state, runners, marked }, { lane, index, outOfOrder: false }),
    })
  }
  return steps
}

function startsOutOfOrder(state: State, without: Rule | undefined): Step<State>[] {
  const steps: Step<State>[] = []
  const end = trusted(state, 1, without)
  for (let index = state.runners[1]; index < end; index++) {
    if (state.lane[index]?.kind !== 'envelope' || state.marked.includes(index)) continue
    steps.push({
      name: `message ${messageAt(state, 1, index)} is started out of order`,
      next: started(
        { ...state, marked: sorted([...state.marked, index]), fresh: sorted([...state.fresh, index]) },
        { lane: 1, index, outOfOrder: true },
      ),
    })
  }
  return steps
}

function started(state: State, place: Place): State {
  const message = messageAt(state, place.lane, place.index)
  const known: Known = { outcome: 'none', again: false }
  const active: Active = { ...known, message, start: startCount(state.history), place, half: false }
  return {
    ...state,
    history: appended(state.history, { kind: 'start', message, place, carried: undefined }),
    active: [...state.active, active],
  }
}

function ends(state: State, active: Active, without: Rule | undefined): Step<State>[] {
  const { message, start, outcome, again, half, place } = active
  if (half) return [{ name: `the note of message ${message} follows`, next: noted(state, active, []) }]
  if (outcome === 'delivered')
    return [{ name: `message ${message} is finished`, next: finished(state, active, []) }]
  if (outcome === 'deferred' || again) return [replaced(state, active, [], without)]
  const isAgain = state.fates[message as 0 | 1] !== 'pending'
  const attempted: State = isAgain ? { ...state, broken: `message ${message} is delivered twice` } : state
  const delivery: Body = { kind: 'delivery', message, start, outcome: 'delivered' }
  const steps = [
    { name: `message ${message} is delivered and finished`, next: finished(attempted, active, [delivery]) },
  ]
  if (attemptsAt(state, place) < deferralsMax)
    steps.push(replaced(attempted, active, [{ ...delivery, outcome: 'deferred' }], without))
  return steps
}

function finished(state: State, active: Active, before: readonly Body[]): State {
  const { message, start } = active
  return ended(state, active, [...before, { kind: 'finish', message, start }])
}

function replaced(
  state: State,
  active: Active,
  before: readonly Body[],
  without: Rule | undefined,
): Step<State> {
  const { message, place } = active
  const lane: State['lane'] = [
    ...state.lane,
    { kind: 'envelope', disk: 'dirty', message, attempts: attemptsAt(state, place) + 1 },
  ]
  if (without !== 'replacement and note are appended in one step')
    return {
      name: `message ${message} is deferred and replaced`,
      next: noted({ ...state, lane }, active, before),
    }
  const others = state.active.map((other) => (other === active ? { ...active, half: true } : other))
  return {
    name: `message ${message} is deferred and its replacement appended`,
    next: { ...state, lane, active: others, history: appended(state.history, ...before) },
  }
}

function noted(state: State, active: Active, before: readonly Body[]): State {
  const { message, start } = active
  const target = state.lane.findLastIndex((entry) => entry.kind === 'envelope' && entry.message === message)
  return ended(state, active, [...before, { kind: 'replaced', message, start, target }])
}

const ended = (state: State, active: Active, records: readonly Body[]): State => ({
  ...state,
  history: appended(state.history, ...records),
  active: state.active.filter((other) => other !== active),
  released: [...state.released, active.place],
})

/** Of incoming, a message's place is its number. */
function messageAt({ lane }: State, of: 0 | 1, index: number): number {
  const entry = lane[index]
  return of === 0 ? index : entry?.kind === 'envelope' ? entry.message : -1
}

function attemptsAt({ lane }: State, { lane: of, index }: Place): number {
  const entry = lane[index]
  return of === 1 && entry?.kind === 'envelope' ? entry.attempts : 0
}

const laneNames = ['incoming', 'the lane'] as const

const sorted = (numbers: number[]): number[] => numbers.sort((a, b) => a - b)
