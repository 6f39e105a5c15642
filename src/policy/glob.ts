/** Patterns in the style of the shell: `*`, `?`, `[a-z]`, `[^a-z]` or `[!a-z]`, `{edu,gov}`, and
 * `\` before a character that means itself.
 * Invariant: matching takes at most (pattern × text) steps and no recursion, whatever the pattern:
 * a configuration line must not be able to stall the queue. Characters are compared as they are; a
 * caller that ignores case lowers both sides. */

export type GlobToken =
  | { readonly kind: 'literal'; readonly character: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'any' }
  | {
      readonly kind: 'class'
      readonly negated: boolean
      readonly ranges: readonly (readonly [string, string])[]
    }

export interface Glob {
  readonly source: string
  /** One per combination of what stands in braces. */
  readonly alternatives: readonly (readonly GlobToken[])[]
}

const globLengthMax = 255
const alternativeCountMax = 64

/** Why a text is no pattern. */
export class GlobError extends Error {
  override readonly name = 'GlobError'
  /** Characters before the place, 0 … the length of the pattern. */
  readonly offset: number

  constructor(expected: string, offset: number) {
    super(expected)
    this.offset = offset
  }
}

/** @throws GlobError */
export function parseGlob(source: string): Glob {
  const characters = Array.from(source)
  if (characters.length > globLengthMax)
    throw new GlobError(`a pattern of at most ${globLengthMax} characters`, globLengthMax)
  let alternatives: GlobToken[][] = [[]]
  const append = (tails: readonly (readonly GlobToken[])[], at: number): void => {
    if (alternatives.length * tails.length > alternativeCountMax)
      throw new GlobError(`at most ${alternativeCountMax} combinations of alternatives in braces`, at)
    alternatives = alternatives.flatMap((head) => tails.map((tail) => [...head, ...tail]))
  }
  for (let at = 0; at < characters.length;) {
    if (characters[at] === '{') {
      const { tails, end } = parseBraces(characters, at)
      append(tails, at)
      at = end
    } else {
      const { token, end } = parseToken(characters, at)
      for (const alternative of alternatives) alternative.push(token)
      at = end
    }
  }
  return { source, alternatives }
}

/** True when the whole of `text` matches. */
export function globMatches(glob: Glob, text: string): boolean {
  const characters = Array.from(text)
  return glob.alternatives.some((tokens) => tokensMatch(tokens, characters))
}

/** True when every text matches. */
export const globMatchesAll = (glob: Glob): boolean =>
  glob.alternatives.some((tokens) => tokens.length > 0 && tokens.every((token) => token.kind === 'any'))

/** False only when no text can match both; two character classes count as overlapping without
 * a look at them. */
export const globsOverlap = (a: Glob, b: Glob): boolean =>
  a.alternatives.some((left) => b.alternatives.some((right) => tokensOverlap(left, right)))

function parseBraces(characters: readonly string[], start: number): { tails: GlobToken[][]; end: number } {
  const tails: GlobToken[][] = [[]]
  for (let at = start + 1; at < characters.length;) {
    const character = characters[at]
    if (character === '}') return { tails, end: at + 1 }
    if (character === '{') throw new GlobError('no braces inside braces', at)
    if (character === ',') {
      tails.push([])
      at++
    } else {
      const { token, end } = parseToken(characters, at)
      tails.at(-1)?.push(token)
      at = end
    }
  }
  throw new GlobError('} after {', start)
}

function parseToken(characters: readonly string[], at: number): { token: GlobToken; end: number } {
  const character = characters[at] ?? ''
  if (character === '*') return { token: { kind: 'any' }, end: at + 1 }
  if (character === '?') return { token: { kind: 'one' }, end: at + 1 }
  if (character === '[') return parseClass(characters, at)
  if (character !== '\\') return { token: { kind: 'literal', character }, end: at + 1 }
  const escaped = characters[at + 1]
  if (escaped === undefined) throw new GlobError('a character after \\', at)
  return { token: { kind: 'literal', character: escaped }, end: at + 2 }
}

function parseClass(characters: readonly string[], start: number): { token: GlobToken; end: number } {
  const negated = characters[start + 1] === '^' || characters[start + 1] === '!'
  const first = start + (negated ? 2 : 1)
  const ranges: (readonly [string, string])[] = []
  for (let at = first; at < characters.length;) {
    const from = characters[at] ?? ''
    // As in the shell, a ] that comes first is a member.
    if (from === ']' && at > first) return { token: { kind: 'class', negated, ranges }, end: at + 1 }
    const to = characters[at + 2]
    const isRange = characters[at + 1] === '-' && to !== undefined && to !== ']'
    ranges.push([from, isRange ? to : from])
    at += isRange ? 3 : 1
  }
  throw new GlobError('] after [', start)
}

function tokensMatch(tokens: readonly GlobToken[], characters: readonly string[]): boolean {
  let t = 0
  let c = 0
  // The last * and where its text ends: what follows is tried there, then one character later, and
  // so on.
  let anyAt = -1
  let anyEnd = 0
  while (c < characters.length) {
    const token = tokens[t]
    if (token?.kind === 'any') {
      anyAt = t++
      anyEnd = c
    } else if (token !== undefined && tokenMatches(token, characters[c] ?? '')) {
      t++
      c++
    } else if (anyAt >= 0) {
      t = anyAt + 1
      c = ++anyEnd
    } else return false
  }
  while (tokens[t]?.kind === 'any') t++
  return t === tokens.length
}

function tokenMatches(token: GlobToken, character: string): boolean {
  if (token.kind === 'literal') return token.character === character
  if (token.kind === 'class')
    return token.ranges.some(([from, to]) => character >= from && character <= to) !== token.negated
  return true
}

function tokensOverlap(a: readonly GlobToken[], b: readonly GlobToken[]): boolean {
  const width = b.length + 1
  const seen = new Set<number>([0])
  const open = [0]
  const visit = (i: number, j: number): void => {
    const place = i * width + j
    if (seen.has(place)) return
    seen.add(place)
    open.push(place)
  }
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const i = Math.floor(place / width)
    const j = place % width
    if (i === a.length && j === b.length) return true
    const left = a[i]
    const right = b[j]
    if (left?.kind === 'any' || right?.kind === 'any') {
      // The * stands for nothing, or takes the character that the other side stands for.
      if (left !== undefined) visit(i + 1, j)
      if (right !== undefined) visit(i, j + 1)
    } else if (left !== undefined && right !== undefined && singlesOverlap(left, right)) visit(i + 1, j + 1)
  }
  return false
}

function singlesOverlap(a: GlobToken, b: GlobToken): boolean {
  if (a.kind === 'literal') return tokenMatches(b, a.character)
  return b.kind === 'literal' ? tokenMatches(a, b.character) : true
}
