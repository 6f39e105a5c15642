/** One moment of two messages between journal, lane, checkpoint and crash: plain data, small
 * numbers, never changed.
 * Invariant: states with one future have one key. */
import { knownKey, placeKey, short, type History, type Known, type Place } from './history.js'

/** The contents of a checkpoint. */
export interface Facts {
  /** The working suffix begins with the start of this number. */
  readonly suffix: number
  /** Runner positions of incoming and of the lane. */
  readonly runners: readonly [number, number]
  /** The lane's end, and its newest `marks` record. */
  readonly end: number
  readonly marks: number
}

export const noMarks = -1

/** `dirty`: written and not synced. `limbo`: a sync failed, the page cache calls it clean. */
export type LaneDisk = 'dirty' | 'durable' | 'limbo'

export type LaneEntry =
  | {
      readonly kind: 'envelope'
      readonly disk: LaneDisk
      readonly message: number
      readonly attempts: number
    }
  | {
      readonly kind: 'marks'
      readonly disk: LaneDisk
      readonly previous: number
      readonly envelopes: readonly number[]
    }

export interface Active extends Known {
  readonly message: number
  /** Number of its newest start. */
  readonly start: number
  readonly place: Place
  /** Its envelope is appended to the lane, its note is not: only where that rule is gone. */
  readonly half: boolean
}

/** A checkpoint under way. */
export interface Pending {
  readonly facts: Facts
  /** Envelopes given up before it was captured. */
  readonly released: readonly Place[]
  readonly isSynced: boolean
  readonly isAppended: boolean
}

/** `scanning`: recovered messages wait for their carrying starts. `carried`: they have them, and
 * the first checkpoint is to come. `running`: runners go. */
export type Phase = 'scanning' | 'carried' | 'running'

/** The facts about a message that are durable, or that a recovery trusted. */
export type Fate = 'pending' | 'delivered' | 'finished'

export interface State {
  readonly phase: Phase
  readonly crashCount: number
  readonly history: History
  /** The newest durable one; the history begins with its suffix. */
  readonly checkpoint: Facts
  readonly pending: Pending | undefined
  readonly lane: readonly LaneEntry[]
  readonly runners: readonly [number, number]
  /** Envelopes of the lane that were started out of order and that the runner has not passed; those
   * of them in no record yet. */
  readonly marked: readonly number[]
  readonly fresh: readonly number[]
  readonly marks: number
  readonly active: readonly Active[]
  readonly waiting: readonly Active[]
  /** Envelopes given up since the last capture. */
  readonly released: readonly Place[]
  /** Segments that were recycled, by lane; a segment holds one envelope. */
  readonly gone: readonly [readonly number[], readonly number[]]
  readonly fates: readonly [Fate, Fate]
  readonly broken: string | undefined
}

export const messages: readonly [0, 1] = [0, 1]

/** Both are submitted and settled, nothing is started. */
export const firstState: State = {
  phase: 'running',
  crashCount: 0,
  history: [],
  checkpoint: { suffix: 0, runners: [0, 0], end: 0, marks: noMarks },
  pending: undefined,
  lane: [],
  runners: [0, 0],
  marked: [],
  fresh: [],
  marks: noMarks,
  active: [],
  waiting: [],
  released: [],
  gone: [[], []],
  fates: ['pending', 'pending'],
  broken: undefined,
}

export const crashesMax = 2

/** Its finish is appended. */
export const isEnded = ({ history }: State, message: number): boolean =>
  history.some(({ body }) => body.kind === 'finish' && body.message === message)

export function keyOf(state: State): string {
  const { phase, crashCount, pending, history, active, waiting } = state
  let key = short(phase) + crashCount + restartKey(state)
  if (pending !== undefined)
    key += `${factsKey(pending.facts)}${placesKey(pending.released)}${pending.isSynced ? 's' : ''}${pending.isAppended ? 'a' : ''}`
  key += `|${state.runners.join()}|${state.marked.join()}|${state.fresh.join()}|${state.marks}|`
  // No crash is left: the journal is not read again, except for ends.
  if (crashCount === crashesMax) for (const message of messages) key += isEnded(state, message)
  else for (const entry of history) key += entry.key
  key += laneKey(state.lane)
  for (const one of active) key += `|${activeKey(one)}`
  for (const one of waiting) key += `/${activeKey(one)}`
  return `${key}|${placesKey(state.released)}|${state.broken ?? ''}`
}

/** The input of a recovery, except lane and history. */
export const restartKey = ({ checkpoint, gone, fates }: State): string =>
  `${factsKey(checkpoint)}${gone[0].join()}+${gone[1].join()}|${short(fates[0])}${short(fates[1])}|`

export const laneKey = (lane: State['lane']): string =>
  lane
    .map((entry) =>
      entry.kind === 'envelope'
        ? `e${entry.message}${entry.attempts}${short(entry.disk)}`
        : `m${entry.previous},${entry.envelopes.join()}${short(entry.disk)}`,
    )
    .join('')

const factsKey = ({ suffix, runners, end, marks }: Facts): string =>
  `${suffix},${runners[0]},${runners[1]},${end},${marks};`

const placesKey = (places: readonly Place[]): string =>
  places
    .map(({ lane, index }) => lane + 2 * index)
    .sort((a, b) => a - b)
    .join()

const activeKey = (active: Active): string =>
  `${active.message}${active.start}${placeKey(active.place)}${knownKey(active)}${active.half ? 'h' : ''}`
