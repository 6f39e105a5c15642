/** ZMailer's scheduler configuration, from text to clauses.
 * Invariant: everything in the language is kept as data, with its line; anything else is reported,
 * with line, column and what was expected there. An empty clause holds the very settings of the
 * next non-empty one.
 * @see ZMailer manual, chapter Scheduler, Configuration Language; README.md in this folder
 * for our decisions */
import { WaybillError } from '../errors.js'
import { commandWords, wordCountMax } from './command-words.js'
import { readDuration } from './duration.js'
import { GlobError, parseGlob, type Glob } from './glob.js'
import { scan, type Component, type PatternToken, type ProblemToken, type TextPlace } from './zmailer-scan.js'

export type SettingName = keyof ZmailerSettings

export interface ZmailerClause {
  /** Where its pattern stands, from 1. */
  readonly line: number
  readonly channel: Glob
  /** In lower case: hosts are compared without regard to case, channels with. */
  readonly host: Glob
  readonly settings: Partial<ZmailerSettings>
  /** Where each of the settings stands. */
  readonly lines: Readonly<Partial<Record<SettingName, number>>>
  /** Where the pattern stands before the settings: of an empty clause, that of another one. */
  readonly contentsLine: number
}

/** One thing that is wrong with a configuration. */
export interface PolicyProblem extends TextPlace {
  /** What should stand there. */
  readonly expected: string
}

export const clauseCountMax = 500
/** Problems that are reported; what comes behind so many is not looked at. */
export const problemCountMax = 100

/** Characters of a configuration. */
const textLengthMax = 1 << 20

/** @returns 1 … 500 clauses in the order of the text
 * @throws WaybillError POLICY_INVALID with every problem; its place is that of the first */
export function parseZmailerClauses(text: string): readonly ZmailerClause[] {
  const { clauses, problems } = readZmailerClauses(text)
  const [first] = problems
  if (first === undefined) return clauses
  const { line, column } = first
  const others = problems
    .slice(1)
    .map((problem) => `; line ${problem.line}, column ${problem.column}: expected ${problem.expected}`)
  throw new WaybillError('POLICY_INVALID', `expected ${first.expected}${others.join('')}`, { line, column })
}

export interface ReadClauses {
  /** Without clauses whose pattern is invalid, and without invalid settings. */
  readonly clauses: readonly ZmailerClause[]
  /** In the order of the text. */
  readonly problems: readonly PolicyProblem[]
}

/** Everything that is right, and everything that is wrong. */
export function readZmailerClauses(text: string): ReadClauses {
  if (text.length > textLengthMax)
    return {
      clauses: [],
      problems: [{ line: 1, column: 1, expected: `at most ${textLengthMax} characters` }],
    }
  return new Reading().all(text)
}

type Head = Pick<ZmailerClause, 'line' | 'channel' | 'host'>

interface Contents {
  readonly settings: Partial<ZmailerSettings>
  readonly lines: Partial<Record<SettingName, number>>
}

/** What there is between the last clause with contents and the next one. */
class Reading {
  readonly #clauses: ZmailerClause[] = []
  readonly #problems: PolicyProblem[] = []
  /** Clauses without contents so far, and where the last of them stands. */
  #empty: Head[] = []
  #emptyAt: TextPlace | undefined
  #patternCount = 0
  #contents: Contents | undefined

  all(text: string): ReadClauses {
    for (const token of scan(text)) {
      if (token.kind === 'problem') this.#takeProblem(token)
      else if (token.kind === 'pattern') this.#takePattern(token)
      else this.#takeComponent(token)
      if (this.#problems.length >= problemCountMax || this.#patternCount > clauseCountMax) break
    }
    if (this.#emptyAt !== undefined) this.#report(this.#emptyAt, 'a clause with contents after an empty one')
    if (this.#patternCount === 0 && this.#problems.length === 0)
      this.#report({ line: 1, column: 1 }, 'at least one clause')
    return { clauses: this.#clauses, problems: this.#problems.sort(inText) }
  }

  #report({ line, column }: TextPlace, expected: string): void {
    this.#problems.push({ line, column, expected })
  }

  /** What follows it is read as if it were right: one mistake is one problem. */
  #takeProblem(token: ProblemToken): void {
    this.#report(token, token.expected)
    if (token.isPattern) this.#begin()
    else this.#contentsAt(token)
  }

  #begin(): void {
    this.#contents = undefined
    this.#patternCount++
  }

  #takePattern(token: PatternToken): void {
    this.#begin()
    this.#emptyAt ??= token
    if (this.#patternCount > clauseCountMax) this.#report(token, `at most ${clauseCountMax} clauses`)
    const head = this.#headOf(token)
    if (head !== undefined) this.#empty.push(head)
  }

  #headOf({ text, line, column, textColumn }: PatternToken): Head | undefined {
    const slash = text.indexOf('/')
    const channel = slash < 0 ? text : text.slice(0, slash)
    const host = slash < 0 ? '*' : text.slice(slash + 1)
    if (channel === '' || host === '') {
      this.#report({ line, column }, 'a pattern, channel/host or channel')
      return undefined
    }
    const glob = (source: string, before: number): Glob | undefined => {
      try {
        return parseGlob(source)
      } catch (error) {
        if (!(error instanceof GlobError)) throw error
        this.#report({ line, column: textColumn + before + error.offset }, error.message)
        return undefined
      }
    }
    const channels = glob(channel, 0)
    const hosts = glob(host.toLowerCase(), slash + 1)
    return channels && hosts && { line, channel: channels, host: hosts }
  }

  #takeComponent(component: Component): void {
    if (this.#patternCount === 0) {
      this.#report(component, 'a pattern in the first column first')
      this.#patternCount++
    }
    this.#set(component, this.#contentsAt(component))
  }

  /** Those of the clauses above, which begin here unless they have begun. */
  #contentsAt({ line }: TextPlace): Contents {
    if (this.#contents !== undefined) return this.#contents
    const contents: Contents = { settings: {}, lines: {} }
    const contentsLine = this.#empty.at(-1)?.line ?? line
    this.#clauses.push(...this.#empty.map((head) => ({ ...head, ...contents, contentsLine })))
    this.#empty = []
    this.#emptyAt = undefined
    return (this.#contents = contents)
  }

  #set(component: Component, { settings, lines }: Contents): void {
    const { name, value, line } = component
    const keyword = keywords.get(name.toLowerCase())
    if (keyword === undefined) {
      const known = [...keywords.keys()].join(', ')
      this.#report(component, `one of ${known}, not ${name.slice(0, 40)}`)
      return
    }
    const read = keyword.read(value)
    if (read === undefined) {
      const place = { line: component.valueLine, column: component.valueColumn }
      this.#report(place, `${keyword.expected} for ${name}`)
      return
    }
    Object.assign(settings, read)
    for (const setting of Object.keys(read)) lines[setting as SettingName] = line
  }
}

const inText = (a: TextPlace, b: TextPlace): number => a.line - b.line || a.column - b.column

/** What clauses say, accumulated or not. README.md says what each of them does here. */
export interface ZmailerSettings {
  /** The primary retry interval, at least a second. */
  readonly intervalMs: number
  /** Age at which a deferred address is given up; 0 = never. */
  readonly expiryMs: number
  /** Multiples of the interval, 1 … 100 of them. 0 = as soon as can be. */
  readonly retries: readonly number[]
  /** Deliveries at once, of all channels; 0 = agentCountDefault. */
  readonly maxta: number
  /** Deliveries at once, of this channel; 0 = agentCountDefault. */
  readonly maxchannel: number
  /** Deliveries at once, of the ring: all destinations whose search ended at one clause; 0 =
   * agentCountDefault. */
  readonly maxring: number
  readonly ageorder: boolean
  readonly queueonly: boolean
  readonly skew: number
  readonly idlemaxMs: number
  readonly overfeed: number
  readonly bychannel: boolean
  readonly user: string
  readonly group: string
  /** '' when no clause names one. */
  readonly command: string
}

interface Keyword {
  readonly expected: string
  /** @param value undefined when the keyword stands alone */
  read(value: string | undefined): Partial<ZmailerSettings> | undefined
}

/** Entries of `retries`, as in ZMailer. */
const retryCountMax = 100

const keywords: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ['interval', span('a time of at least a second, like 1h5m20s', 1000, (intervalMs) => ({ intervalMs }))],
  ['expiry', span('a time, like 3d', 0, (expiryMs) => ({ expiryMs }))],
  ['retries', { expected: `1 to ${retryCountMax} numbers, like "1 1 2 3 5"`, read: readRetries }],
  ['maxta', count((maxta) => ({ maxta }))],
  ['maxchannel', count((maxchannel) => ({ maxchannel }))],
  ['maxring', count((maxring) => ({ maxring }))],
  ['ageorder', flag({ ageorder: true })],
  ['queueonly', flag({ queueonly: true })],
  ['skew', count((skew) => ({ skew }), 1)],
  ['idlemax', span('a time, like 2m', 0, (idlemaxMs) => ({ idlemaxMs }))],
  ['overfeed', count((overfeed) => ({ overfeed }))],
  ['bychannel', flag({ bychannel: true })],
  ['user', string('the name of a user, or its number', account, (user) => ({ user }))],
  ['group', string('the name of a group, or its number', account, (group) => ({ group }))],
  [
    'command',
    string(
      `a command of at most ${wordCountMax} words, its quotes closed`,
      (command) => !/[\0\n]/.test(command) && commandWords(command) !== undefined,
      (command) => (command.includes('$channel') ? { command, bychannel: true } : { command }),
    ),
  ],
])

function span(expected: string, minMs: number, make: (ms: number) => Partial<ZmailerSettings>): Keyword {
  return {
    expected,
    read: (value = '') => {
      // ZMailer reads a bare number as seconds and knows no milliseconds.
      const ms = value.includes('ms') ? undefined : readDuration(/^[0-9]+$/.test(value) ? `${value}s` : value)
      return ms === undefined || ms < minMs ? undefined : make(ms)
    },
  }
}

function count(make: (count: number) => Partial<ZmailerSettings>, min = 0): Keyword {
  return {
    expected: `a whole number from ${min} to 999999999`,
    read: (value = '') =>
      /^[0-9]{1,9}$/.test(value) && Number(value) >= min ? make(Number(value)) : undefined,
  }
}

function flag(settings: Partial<ZmailerSettings>): Keyword {
  return { expected: 'no value', read: (value) => (value === undefined ? settings : undefined) }
}

function string(
  expected: string,
  isOne: (text: string) => boolean,
  make: (text: string) => Partial<ZmailerSettings>,
): Keyword {
  return { expected, read: (value = '') => (isOne(value) ? make(value) : undefined) }
}

/** As useradd(8) takes them, and numbers. */
function account(name: string): boolean {
  return /^(?:[0-9]{1,9}|[a-z_][a-z0-9_.-]{0,31}\$?)$/i.test(name)
}

function readRetries(value = ''): Partial<ZmailerSettings> | undefined {
  const words = value.split(/\s+/).filter((word) => word !== '')
  const numeric = words.every((word) => /^[0-9]{1,6}$/.test(word))
  return numeric && words.length >= 1 && words.length <= retryCountMax
    ? { retries: words.map(Number) }
    : undefined
}
