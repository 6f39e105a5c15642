/** From the delay that a policy wants to the interval of a lane that exists.
 * Invariant: an answer is always one of the intervals, so append order stays due order. Jitter is the choice between the two
 * lanes around the wanted delay, never an offset inside a lane; it is drawn so that the mean is the wanted delay. */
import { assert } from '../base/assert.js'
import type { Prng } from '../base/prng.js'
import { WaybillError } from '../errors.js'

/** One lane each; two more lanes are `incoming` and `hold`. */
export const intervalCountMax = 30

/** Jitter when nothing is said: the wanted delay is moved by up to a tenth either way before the lane is chosen. */
export const jitterDefault = 0.1

/** Beyond this ratio two lanes are not neighbours: a message that should wait a minute never waits an hour by chance. */
const neighbourRatioMax = 2

/** @throws WaybillError OPTION_INVALID when `jitter` is not from 0 (off) to 0.5 */
export function checkJitter(jitter: number): number {
  if (jitter >= 0 && jitter <= 0.5) return jitter
  throw new WaybillError('OPTION_INVALID', `${jitter} is not a share from 0 to 0.5`, { option: 'jitter' })
}

/** The lanes for `delaysMs`, ascending and distinct. Of more than intervalCountMax, first go those whose neighbours are closest
 * to each other (by ratio); both ends stay. A delay that loses its lane is rounded to the nearest by `intervalFor`. */
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
