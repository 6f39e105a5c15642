/** Randomness as an argument. The engine draws epochs, ids and jitter from here and nowhere else,
 * so a seed replays a run; none of its uses needs secrecy. */

export interface Prng {
  /** An integer from 0 to 2³² − 1, evenly. */
  uint32(): number
}

/** sfc32: small, fast, passes PractRand; state from one seed by splitmix32. The same seed gives
 * the same numbers. */
export function seededPrng(seed: number): Prng {
  let s = seed | 0
  const splitmix = (): number => {
    s = (s + 0x9e3779b9) | 0
    let z = Math.imul(s ^ (s >>> 16), 0x21f0aaad)
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
    return z ^ (z >>> 15)
  }
  let a = splitmix()
  let b = splitmix()
  let c = splitmix()
  let counter = 1
  return {
    uint32: () => {
      const t = (((a + b) | 0) + counter) | 0
      counter = (counter + 1) | 0
      a = b ^ (b >>> 9)
      b = (c + (c << 3)) | 0
      c = (c << 21) | (c >>> 11)
      c = (c + t) | 0
      return t >>> 0
    },
  }
}

/** A generator whose seed is the system's: what production uses. */
export const systemPrng = (): Prng => seededPrng((Math.random() * 0x1_0000_0000) | 0)

/** An integer from 0 to `bound` − 1. @param bound 1 … 2³² */
export const below = (prng: Prng, bound: number): number =>
  Math.floor((prng.uint32() / 0x1_0000_0000) * bound)

/** @param values at least one */
export function pick<T>(prng: Prng, values: readonly T[]): T {
  return values[below(prng, values.length)]!
}

/** The generator for number `n` of a seed. @param salt differs between callers with the same `n` */
export const prngAt = (seed: number, n: number, salt: number): Prng =>
  seededPrng(Math.imul(seed, 0x9e3779b1) ^ Math.imul(n, 0x85ebca6b) ^ salt)
