/** Patterns in the style of the shell: `*`, `?`, `[a-z]`, `[^a-z]` or `[!a-z]`, `{edu,gov}`, and `\` before a character that
 * means itself.
 * Invariant: matching takes at most (pattern × text) steps and no recursion, whatever the pattern: a configuration line must
 * not be able to stall the queue. Characters are compared as they are; who wants to ignore case lowers both sides. */
import { WaybillError } from '../errors.js'

type Token =
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
  readonly alternatives: readonly (readonly Token[])[]
}

export const globLengthMax = 255
export const alternativeCountMax = 64

/** @param line named in the error
 * @throws WaybillError POLICY_INVALID */
export function parseGlob(source: string, line: number): Glob {
  const characters = Array.from(source)
  if (characters.length > globLengthMax)
    throw invalid(`expected a pattern of at most ${globLengthMax} characters`, line)
  let alternatives: Token[][] = [[]]
  const append = (tails: readonly (readonly Token[])[]): void => {
    if (alternatives.length * tails.length > alternativeCountMax)
      throw invalid(`expected at most ${alternativeCountMax} combinations of alternatives in braces`, line)
    alternatives = alternatives.flatMap((head) => tails.map((tail) => [...head, ...tail]))
  }
  for (let at = 0; at < characters.length;) {
    if (characters[at] === '{') {
      const { tails, end } = parseBraces(characters, at, line)
      append(tails)
      at = end
    } else {
      const { token, end } = parseToken(characters, at, line)
      append([[token]])
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

/** False only when no text can match both; two character classes count as overlapping without a look at them. */
export const globsOverlap = (a: Glob, b: Glob): boolean =>
  a.alternatives.some((left) => b.alternatives.some((right) => tokensOverlap(left, right)))

function parseBraces(
  characters: readonly string[],
  start: number,
  line: number,
): { tails: Token[][]; end: number } {
  const tails: Token[][] = [[]]
  for (let at = start + 1; at < characters.length;) {
    const character = characters[at]
    if (character === '}') return { tails, end: at + 1 }
    if (character === '{') throw invalid('expected no braces inside braces', line)
    if (character === ',') {
      tails.push([])
      at++
    } else {
      const { token, end } = parseToken(characters, at, line)
      tails.at(-1)?.push(token)
      at = end
    }
  }
  throw invalid('expected } after {', line)
}

function parseToken(characters: readonly string[], at: number, line: number): { token: Token; end: number } {
  const character = characters[at] ?? ''
  if (character === '*') return { token: { kind: 'any' }, end: at + 1 }
  if (character === '?') return { token: { kind: 'one' }, end: at + 1 }
  if (character === '[') return parseClass(characters, at, line)
  if (character !== '\\') return { token: { kind: 'literal', character }, end: at + 1 }
  const escaped = characters[at + 1]
  if (escaped === undefined) throw invalid('expected a character after \\', line)
  return { token: { kind: 'literal', character: escaped }, end: at + 2 }
}

function parseClass(
  characters: readonly string[],
  start: number,
  line: number,
): { token: Token; end: number } {
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
  throw invalid('expected ] after [', line)
}

function tokensMatch(tokens: readonly Token[], characters: readonly string[]): boolean {
  let t = 0
  let c = 0
  // The last * and where its text ends: what follows is tried there, then one character later, and so on.
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

function tokenMatches(token: Token, character: string): boolean {
  if (token.kind === 'literal') return token.character === character
  if (token.kind === 'class')
    return token.ranges.some(([from, to]) => character >= from && character <= to) !== token.negated
  return true
}

function tokensOverlap(a: readonly Token[], b: readonly Token[]): boolean {
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

function singlesOverlap(a: Token, b: Token): boolean {
  if (a.kind === 'literal') return tokenMatches(b, a.character)
  return b.kind === 'literal' ? tokenMatches(a, b.character) : true
}

const invalid = (expected: string, line: number): WaybillError =>
  new WaybillError('POLICY_INVALID', expected, { line })
