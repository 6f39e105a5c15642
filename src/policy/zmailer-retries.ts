/** The delays that ZMailer's `interval` and `retries` make.
 * Invariant: an address goes through its list once, then enters it again and again at a random spot
 * and goes on to its end. Where ZMailer keeps the place in the list in memory, per thread (channel
 * and host), and loses it with the process, the walk here is a function of the thread's name and
 * the number of attempts: nothing to keep, nothing to lose. */
import { below, seededPrng } from '../base/prng.js'
import { durationMsMax } from './duration.js'
import { globMatchesAll, globsOverlap, parseGlob } from './glob.js'
import type { ZmailerClause } from './zmailer-clauses.js'
import type { ZmailerSettings } from './zmailer-keywords.js'

type Row = Pick<ZmailerClause, 'channel' | 'host' | 'settings'>

/** For `retries=0`: an interval of 0 would be the lane of new mail. */
const delayMsMin = 1000

/** Attempts after the end of the list until the walk repeats itself. */
const walkLengthMax = 10_000

export const delayOf = (intervalMs: number, factor: number): number =>
  Math.min(Math.max(intervalMs * factor, delayMsMin), durationMsMax)

/** The place in a list of retries for the delay after an attempt.
 * @param attempts ≥ 1 @param listLength ≥ 1 @param thread channel/host */
export function retryIndex(attempts: number, listLength: number, thread: string): number {
  if (attempts <= listLength) return attempts - 1
  let left = (attempts - listLength - 1) % walkLengthMax
  const spots = seededPrng(hash(thread))
  for (;;) {
    const spot = below(spots, listLength)
    if (spot + left < listLength) return spot + left
    left -= listLength - spot
  }
}

/** The wait of queue-only mail that never expires and is not asked for. */
const unaskedMs = 30 * 86_400_000
/** It has three lanes, so that it expires at most a sixteenth of its lifetime late. */
const unaskedShares = [1, 4, 16] as const

/** How long queue-only mail waits: until it expires. @param ageMs of the message */
export function unaskedDelayMs(expiryMs: number, ageMs: number): number {
  const delaysMs = unaskedDelaysMs(expiryMs)
  if (expiryMs === 0) return delaysMs[0]!
  return delaysMs.find((delayMs) => delayMs <= expiryMs - ageMs) ?? delaysMs.at(-1)!
}

/** All of these, the longest first. */
const unaskedDelaysMs = (expiryMs: number): readonly number[] =>
  expiryMs === 0
    ? [unaskedMs]
    : unaskedShares.map((share) => Math.max(Math.round(expiryMs / share), delayMsMin))

/** Every delay that some address may get. A few that none gets are harmless; a missing one
 * would be rounded. */
export function* delaysOf(
  defaults: Partial<ZmailerSettings>,
  clauses: readonly ZmailerClause[],
): Generator<number, undefined> {
  yield* listedDelaysOf(defaults, clauses)
  if (!clauses.some(({ settings }) => settings.queueonly)) return
  for (const { settings } of [{ settings: defaults }, ...clauses])
    if (settings.expiryMs !== undefined) yield* unaskedDelaysMs(settings.expiryMs)
}

function* listedDelaysOf(
  defaults: Partial<ZmailerSettings>,
  clauses: readonly ZmailerClause[],
): Generator<number, undefined> {
  const everything = parseGlob('*')
  const rows: Row[] = [{ channel: everything, host: everything, settings: defaults }, ...clauses]
  const givers = rows.filter(
    (row, i) => row.settings.intervalMs !== undefined && !isHidden(rows, i, 'intervalMs'),
  )
  const listers = rows.filter((row, i) => row.settings.retries !== undefined && !isHidden(rows, i, 'retries'))
  for (const giver of givers)
    for (const lister of listers) {
      // Of two clauses that match the same address, the later has the last word on what it sets.
      const giverIsLater = rows.indexOf(giver) > rows.indexOf(lister)
      if (
        giver !== lister &&
        (giverIsLater ? giver.settings.retries : lister.settings.intervalMs) !== undefined
      )
        continue
      if (!globsOverlap(giver.channel, lister.channel) || !globsOverlap(giver.host, lister.host)) continue
      for (const factor of lister.settings.retries ?? [])
        yield delayOf(giver.settings.intervalMs ?? 0, factor)
    }
}

/** True when every address that gets `setting` from row `i` gets it again from a later one that
 * matches everything. */
function isHidden(rows: readonly Row[], i: number, setting: 'intervalMs' | 'retries'): boolean {
  for (let j = i; j + 1 < rows.length && rows[j]?.settings.command === undefined; j++) {
    const next = rows[j + 1]
    if (next?.settings[setting] !== undefined && globMatchesAll(next.channel) && globMatchesAll(next.host))
      return true
  }
  return false
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let h = 0x811c9dc5
  for (const character of text) h = Math.imul(h ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return h
}
