/** What each variable and keyword of a ZMailer clause may say.
 * Invariant: a reader answers the setting, or undefined for a value outside the language; the
 * caller knows the line. */
import { commandWords, wordCountMax } from './command-words.js'
import { readDuration } from './duration.js'

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

export const keywords: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
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
