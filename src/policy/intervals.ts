/** Maps the delay that a policy wants to the interval of a lane that exists.
 * Invariant: an answer is always one of the intervals, so append order stays due order. Jitter is
 * the choice between lanes, never an offset inside one: first between the two around the wanted
 * delay, so that the mean is the wanted delay, then among those beside that one. */
import { assert } from '../base/assert.js'
import type { Prng } from '../base/prng.js'
import { WaybillError } from '../errors.js'

/** One lane each; two more lanes are `incoming` and `hold`. */
export const intervalCountMax = 30

/** Default jitter: the wanted delay is moved by up to a tenth either way before the lane is
 * chosen. */
export const jitterDefault = 0.1

/** Beyond this ratio two lanes are not neighbours: a message that should wait a minute never waits
 * an hour by chance. */
const neighbourRatioMax = 2

/** @throws WaybillError OPTION_INVALID when `jitter` is not from 0 (off) to 0.5 */
export function checkJitter(jitter: number): number {
  if (jitter >= 0 && jitter <= 0.5) return jitter
  throw new WaybillError('OPTION_INVALID', `${jitter} is not a share from 0 to 0.5`, { option: 'jitter' })
}

/** Intervals beside one delay, with it. Of messages that were deferred together one in
 * 4 · 4 · 4 / 2 is due with another after three rounds: at most 3.2 %. */
const scatterCountMax = 4

/** Shares of the jitter. Sums of two or three of them, doubled or not, are all different. */
const scatterShares = [0.34, 0.75, 0.98] as const

/** Each delay, and the intervals that may stand for it, itself among them: as many as there is room
 * for lanes. None is shorter than the first delay or longer than the last.
 * @param delaysMs ascending and distinct
 * @param jitter how far they are away, as a share of the delay; 0: there are none */
export function scattered(
  delaysMs: readonly number[],
  jitter: number,
): ReadonlyMap<number, readonly number[]> {
  const count = Math.min(scatterCountMax, Math.floor(intervalCountMax / delaysMs.length))
  const shares = jitter === 0 || delaysMs.length === 1 ? [] : scatterShares.slice(0, count - 1)
  return new Map(
    delaysMs.map((delayMs, index) => {
      const beside = shares.map((share, i) => {
        const isBelow = index > 0 && (i % 2 === 1 || index === delaysMs.length - 1)
        return Math.round(delayMs * (1 + (isBelow ? -share : share) * jitter))
      })
      return [delayMs, [...new Set([delayMs, ...beside])]]
    }),
  )
}

/** Each is as likely as the others. */
export const oneOf = (intervalsMs: readonly number[], prng: Prng): number =>
  intervalsMs.length === 1 ? intervalsMs[0]! : intervalsMs[Math.floor(unit(prng) * intervalsMs.length)]!

/** The lanes for `delaysMs`, ascending and distinct. Of more than intervalCountMax, first go those
 * whose neighbours are closest to each other (by ratio); both ends stay. A delay that loses its
 * lane is rounded to the nearest by `intervalFor`. */
export function intervalsOf(delaysMs: Iterable<number>): readonly number[] {
  const intervalsMs = [...new Set(delaysMs)].sort((a, b) => a - b)
  const gapWithout = (i: number): number => (intervalsMs[i + 1] ?? 0) / (intervalsMs[i - 1] ?? 1)
  while (intervalsMs.length > intervalCountMax) {
    let least = 1
    for (let i = 2; i < intervalsMs.length - 1; i++) if (gapWithout(i) < gapWithout(least)) least = i
    intervalsMs.splice(least, 1)
  }
  return intervalsMs
}

/** The interval to wait for, when `delayMs` is wanted.
 * @param intervalsMs ascending, at least one
 * @param jitter 0 rounds to the nearest and draws nothing */
export function intervalFor(
  intervalsMs: readonly number[],
  delayMs: number,
  jitter: number,
  prng: Prng,
): number {
  const wantedMs = jitter === 0 ? delayMs : delayMs * (1 + jitter * (2 * unit(prng) - 1))
  const above = intervalsMs.findIndex((intervalMs) => intervalMs >= wantedMs)
  const upperMs = intervalsMs.at(above)
  assert(upperMs !== undefined, 'a policy has at least one interval')
  const lowerMs = above > 0 ? intervalsMs[above - 1] : undefined
  if (lowerMs === undefined || upperMs === wantedMs) return upperMs
  const share = (wantedMs - lowerMs) / (upperMs - lowerMs)
  if (jitter === 0 || upperMs > lowerMs * neighbourRatioMax) return share < 0.5 ? lowerMs : upperMs
  return unit(prng) < share ? upperMs : lowerMs
}

/** From 0 up to, not including, 1. */
const unit = (prng: Prng): number => prng.uint32() / 0x1_0000_0000
