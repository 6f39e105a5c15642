/** ZMailer's scheduler configuration, from text to clauses.
 * Invariant: everything that the language can say is kept as data, with its line, whether or not it means anything here; what
 * it cannot say is an error with its line. An empty clause holds the very settings of the next non-empty one.
 * @see ZMailer manual, chapter Scheduler, Configuration Language; README.md beside this file for what was settled here */
import { WaybillError } from '../errors.js'
import { parseGlob, type Glob } from './glob.js'
import { keywords, type ZmailerSettings } from './zmailer-keywords.js'

export interface ZmailerClause {
  /** Where its pattern stands, from 1. */
  readonly line: number
  readonly channel: Glob
  /** In lower case: hosts are compared without regard to case, channels with. */
  readonly host: Glob
  readonly settings: Partial<ZmailerSettings>
}

export const clauseCountMax = 500

/** Characters of a configuration. */
const textLengthMax = 1 << 20

/** @returns 1 … 500 clauses in the order of the text
 * @throws WaybillError POLICY_INVALID with the line and what was expected there */
export function parseZmailerClauses(text: string): readonly ZmailerClause[] {
  if (text.length > textLengthMax) throw invalid(`expected at most ${textLengthMax} characters`, 1)
  const clauses: ZmailerClause[] = []
  const empty: Omit<ZmailerClause, 'settings'>[] = []
  let settings: Partial<ZmailerSettings> | undefined
  for (const token of scan(text.replaceAll('\r\n', '\n'))) {
    if (token.kind === 'pattern') {
      empty.push(parsePattern(token.text, token.line))
      settings = undefined
      if (empty.length + clauses.length > clauseCountMax)
        throw invalid(`expected at most ${clauseCountMax} clauses`, token.line)
    } else {
      if (settings === undefined) {
        if (empty.length === 0) throw invalid('expected a pattern in the first column first', token.line)
        const shared: Partial<ZmailerSettings> = {}
        clauses.push(...empty.splice(0).map((clause) => ({ ...clause, settings: shared })))
        settings = shared
      }
      Object.assign(settings, readComponent(token))
    }
  }
  const last = empty[0]
  if (last !== undefined) throw invalid('expected a clause with contents after an empty one', last.line)
  if (clauses.length === 0) throw invalid('expected at least one clause', 1)
  return clauses
}

interface Pattern {
  readonly kind: 'pattern'
  readonly line: number
  readonly text: string
}

interface Component {
  readonly kind: 'component'
  readonly line: number
  readonly name: string
  /** undefined for a keyword that stands alone */
  readonly value: string | undefined
}

function parsePattern(text: string, line: number): Omit<ZmailerClause, 'settings'> {
  const slash = text.indexOf('/')
  const channel = slash < 0 ? text : text.slice(0, slash)
  const host = slash < 0 ? '*' : text.slice(slash + 1)
  if (channel === '' || host === '') throw invalid('expected a pattern, channel/host or channel', line)
  return { line, channel: parseGlob(channel, line), host: parseGlob(host.toLowerCase(), line) }
}

function readComponent({ name, value, line }: Component): Partial<ZmailerSettings> {
  const keyword = keywords.get(name.toLowerCase())
  if (keyword === undefined)
    throw invalid(`expected one of ${[...keywords.keys()].join(', ')}, not ${name.slice(0, 40)}`, line)
  const settings = keyword.read(value)
  if (settings === undefined) throw invalid(`${name}: expected ${keyword.expected}`, line)
  return settings
}

function* scan(text: string): Generator<Pattern | Component, undefined> {
  const skipped = /[^\S\n]*(?:#[^\n]*)?/y
  const pattern = /[^\s#]+/y
  const named = /([a-z][a-z0-9]*)(?:[^\S\n]*(=)[^\S\n]*)?/iy
  const quoted = /"((?:[^"\\\n]|\\[^\n]|\\\n)*)"/y
  const bare = /[^\s"]+/y
  let at = 0
  let line = 1
  const take = (regexp: RegExp): RegExpExecArray | undefined => {
    regexp.lastIndex = at
    const found = regexp.exec(text)
    if (found === null) return undefined
    at = regexp.lastIndex
    return found
  }
  while (at < text.length) {
    const firstColumn = at === 0 || text[at - 1] === '\n'
    const start = at
    take(skipped)
    if (at >= text.length) return
    if (text[at] === '\n') {
      at++
      line++
    } else if (firstColumn && at === start) {
      const source = take(pattern)?.[0] ?? ''
      if (source.includes('=')) throw invalid('expected a pattern; assignments are indented', line)
      yield { kind: 'pattern', line, text: source }
    } else {
      const componentLine = line
      const found = take(named)
      if (found === undefined) throw invalid('expected a variable or keyword', line)
      let value: string | undefined
      if (found[2] === '=') {
        const inQuotes = take(quoted)?.[1]
        value =
          inQuotes?.replace(/\\(\n|.)/g, (_, escaped) => (escaped === '\n' ? '' : escaped)) ?? take(bare)?.[0]
        line += (inQuotes?.match(/\n/g) ?? []).length
        if (value === undefined) throw invalid(`expected a value after ${found[1]}=, quotes closed`, line)
      }
      if (at < text.length && !/[\s#]/.test(text[at] ?? ''))
        throw invalid(`expected white space after ${found[1]}`, line)
      yield { kind: 'component', line: componentLine, name: found[1] ?? '', value }
    }
  }
}

const invalid = (reason: string, line: number): WaybillError =>
  new WaybillError('POLICY_INVALID', reason, { line })
