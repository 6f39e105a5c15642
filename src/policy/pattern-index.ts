/** Finds the first of many patterns that a name matches. Pure.
 * Invariant: the answer is that of trying them in their order; a pattern without `*`, or with one
 * at its beginning alone, costs nothing for names that it does not match. */
import { globMatches, parseGlob, type Glob, type GlobToken } from './glob.js'

interface Rest {
  readonly glob: Glob
  readonly index: number
}

export class PatternIndex {
  /** To the place of the first pattern that is this text. */
  readonly #whole = new Map<string, number>()
  /** By their lengths, the ends of patterns such as `*.example.net`. */
  readonly #ends = new Map<number, Map<string, number>>()
  /** In their order. */
  readonly #rest: Rest[] = []

  /** @throws GlobError */
  constructor(patterns: readonly string[]) {
    for (const [index, pattern] of patterns.entries()) {
      const glob = parseGlob(pattern)
      const indexed = glob.alternatives.every((tokens) => this.#add(tokens, index))
      if (!indexed) this.#rest.push({ glob, index })
    }
  }

  /** @returns its place, from 0; undefined when none matches */
  find(name: string): number | undefined {
    let first = this.#whole.get(name) ?? Infinity
    for (const [length, ends] of this.#ends)
      if (length <= name.length)
        first = Math.min(first, ends.get(name.slice(name.length - length)) ?? Infinity)
    for (const { glob, index } of this.#rest) {
      if (index >= first) break
      if (globMatches(glob, name)) return index
    }
    return first === Infinity ? undefined : first
  }

  #add(tokens: readonly GlobToken[], index: number): boolean {
    const isEnd = tokens[0]?.kind === 'any'
    const literals = isEnd ? tokens.slice(1) : tokens
    if (!literals.every((token) => token.kind === 'literal')) return false
    const text = literals.map(({ character }) => character).join('')
    const texts = isEnd ? this.#endsOf(text.length) : this.#whole
    if (!texts.has(text)) texts.set(text, index)
    return true
  }

  #endsOf(length: number): Map<string, number> {
    let ends = this.#ends.get(length)
    if (ends === undefined) this.#ends.set(length, (ends = new Map()))
    return ends
  }
}
