/** The journal's records from the suffix of its newest durable checkpoint on.
 * Invariant: records stand in the order of their appends, except records that commute: those stand
 * as early as possible, so that histories with one future meet. Two records commute unless they are
 * of one message, are both starts, are both notes of a replacement, or one is a checkpoint. A
 * record names a start by its number among the starts. */
import type { Facts } from './state.js'

export type Outcome = 'none' | 'deferred' | 'delivered'

/** Where an envelope stands: lane 0 is incoming, 1 is the retry lane. */
export interface Place {
  readonly lane: 0 | 1
  readonly index: number
  readonly outOfOrder: boolean
}

/** The state of an active message. */
export interface Known {
  readonly outcome: Outcome
  /** Its replacement was appended in an earlier life and is not trusted: it is made again. */
  readonly again: boolean
}

/** Number of a start that stands before the suffix, and of one that is not there at all. */
export const beforeSuffix = -1
export const missing = -2

export type Body =
  | {
      readonly kind: 'start'
      readonly message: number
      readonly place: Place
      /** The start whose place it takes, and what was known then. */
      readonly carried: (Known & { readonly start: number }) | undefined
    }
  | {
      readonly kind: 'delivery'
      readonly message: number
      readonly start: number
      readonly outcome: Outcome
    }
  | { readonly kind: 'finish'; readonly message: number; readonly start: number }
  | {
      readonly kind: 'replaced'
      readonly message: number
      readonly start: number
      readonly target: number
    }
  | { readonly kind: 'checkpoint'; readonly facts: Facts }

/** Where the bytes are: in this life's memory or in a write that has not come back · on the device
 * · in a page cache that calls them clean, and not on the device. */
export type Disk = 'staged' | 'durable' | 'limbo'

export interface Entry {
  readonly body: Body
  readonly disk: Disk
  /** Says all of it. */
  readonly key: string
}

export type History = readonly Entry[]

function dependOn(a: Body, b: Body): boolean {
  if (a.kind === 'checkpoint' || b.kind === 'checkpoint') return true
  return a.message === b.message || (a.kind === b.kind && (a.kind === 'start' || a.kind === 'replaced'))
}

export function appended(history: History, ...bodies: readonly Body[]): History {
  const longer = [...history]
  for (const body of bodies) {
    let place = longer.length
    for (let at = place - 1; at >= 0 && !dependOn(longer[at]!.body, body); at--)
      if (comesBefore(body, longer[at]!.body)) place = at
    longer.splice(place, 0, entryOf(body, 'staged'))
  }
  return longer
}

/** A start moves over nothing and everything else over starts, so that what ended before a suffix
 * is cut off with it. */
function comesBefore(a: Body, b: Body): boolean {
  if (a.kind === 'checkpoint' || b.kind === 'checkpoint' || a.kind === 'start') return false
  return b.kind === 'start' || a.message < b.message
}

export const startCount = (history: History): number =>
  history.reduce((count, { body }) => (body.kind === 'start' ? count + 1 : count), 0)

/** A choice of records, a bit for each. */
export type Cut = number

/** The records that may be on the disk when a life ends: all certain ones, and each other one only
 * with those that it depends on. */
export const cuts = (history: History): readonly Cut[] =>
  choices(history, (at) => {
    let needed = 0
    for (let before = 0; before < at; before++)
      if (dependOn(history[before]!.body, history[at]!.body)) needed |= 1 << before
    return needed
  })

/** Every choice of staged records: what a torn batch holds if its frames count one by one. */
export const tornCuts = (history: History): readonly Cut[] => choices(history, () => 0)

/** @param neededBy the records without which one cannot be there */
function choices(history: History, neededBy: (at: number) => Cut): readonly Cut[] {
  let kept: Cut[] = [0]
  history.forEach(({ disk }, at) => {
    const needed = disk === 'staged' ? neededBy(at) : 0
    const longer = kept.filter((cut) => (cut & needed) === needed).map((cut) => cut | (1 << at))
    kept = disk === 'staged' ? [...kept, ...longer] : longer
  })
  return kept
}

/** The records of a cut. Where a start is missing, the others are numbered anew. */
export const chosen = (history: History, cut: Cut): History =>
  without(history, (entry) => (cut & (1 << history.indexOf(entry))) === 0)

/** Removes entries; starts are numbered anew, and records that name a removed start show that. */
export function without(history: History, isGone: (entry: Entry) => boolean): History {
  if (!history.some(isGone)) return history
  let count = 0
  const numbers = history
    .filter(({ body }) => body.kind === 'start')
    .map((entry) => (isGone(entry) ? missing : count++))
  return history
    .filter((entry) => !isGone(entry))
    .map((entry) => renumbered(entry, (start) => (start < 0 ? start : numbers[start]!)))
}

/** Cuts off the records before a start. @param suffix its number, or that of the next start to
 * come */
export function suffixOf(history: History, suffix: number): History {
  let at = 0
  for (let count = 0; at < history.length; at++)
    if (history[at]!.body.kind === 'start' && count++ === suffix) break
  return history
    .slice(at)
    .map((entry) =>
      renumbered(entry, (start) => (start < 0 ? start : start < suffix ? beforeSuffix : start - suffix)),
    )
}

function renumbered(entry: Entry, numberOf: (start: number) => number): Entry {
  const { body, disk } = entry
  if (body.kind === 'checkpoint' || (body.kind === 'start' && body.carried === undefined)) return entry
  const before = body.kind === 'start' ? body.carried!.start : body.start
  const start = numberOf(before)
  if (start === before) return entry
  return entryOf(
    body.kind === 'start' ? { ...body, carried: { ...body.carried!, start } } : { ...body, start },
    disk,
  )
}

export const onDisk = (history: History, disk: Disk): History =>
  history.map((entry) => (entry.disk === disk ? entry : entryOf(entry.body, disk)))

/** Staged records have reached the disk, or only the page cache. */
export const written = (history: History, disk: 'durable' | 'limbo'): History =>
  history.map((entry) => (entry.disk === 'staged' ? entryOf(entry.body, disk) : entry))

const entryOf = (body: Body, disk: Disk): Entry => ({ body, disk, key: bodyKey(body) + short(disk) })

function bodyKey(body: Body): string {
  switch (body.kind) {
    case 'checkpoint': {
      const { suffix, runners, end, marks } = body.facts
      return `c${suffix},${runners.join()},${end},${marks}`
    }
    case 'start': {
      const { message, place, carried } = body
      return `s${message}${placeKey(place)}${carried === undefined ? '' : knownKey(carried) + carried.start}`
    }
    case 'delivery':
      return `d${body.message}${body.start}${short(body.outcome)}`
    case 'finish':
      return `f${body.message}${body.start}`
    case 'replaced':
      return `r${body.message}${body.start},${body.target}`
  }
}

export const knownKey = ({ outcome, again }: Known): string => short(outcome) + (again ? '!' : '')

/** Enough of a word to tell it from those that could stand in its place. */
export const short = (word: string): string => word.slice(0, 3)

export const placeKey = ({ lane, index, outOfOrder }: Place): string =>
  `${lane}${index}${outOfOrder ? 'o' : ''}`
