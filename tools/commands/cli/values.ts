/** Values on the command line: text → data, or an error that says what was expected. Pure. */
import { readDuration } from '../../../src/policy/duration.js'
import { areDelimiters, delimitersWanted } from '../../../src/relay/tables/address-extension.js'
import { flagOf, UsageError } from './command.js'

export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** `HOST:PORT`, `[IPv6]:PORT`, `[HOST]:PORT` as Postfix has it, `:PORT` or `PORT`.
 * @throws UsageError */
export function parseEndpoint(
  option: string,
  text: string,
  hostDefault: string,
  portDefault?: number,
): Endpoint {
  const match = /^(?:\[([0-9a-f:.]+|[^\s:[\]]+)\]|([^\s:[\]]*))(?::(\d{1,5}))?$/i.exec(text)
  const isPort = match !== null && match[3] === undefined && /^\d+$/.test(match[2] ?? '')
  const host = isPort ? '' : (match?.[1] ?? match?.[2] ?? '')
  const port = Number(isPort ? match?.[2] : (match?.[3] ?? portDefault))
  if (text === '' || match === null || !(port >= 0 && port <= 65_535)) {
    throw new UsageError(`${flagOf(option)} takes HOST:PORT, not '${text}'`)
  }
  return { host: host === '' ? hostDefault : host, port }
}

export const formatEndpoint = ({ host, port }: Endpoint): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

/** `250ms`, `5m`, `1h30m`. @returns milliseconds @throws UsageError */
export function parseDurationOption(option: string, text: string): number {
  const durationMs = readDuration(text)
  if (durationMs === undefined)
    throw new UsageError(`${flagOf(option)} takes a duration like 5m or 1h30m, not '${text}'`)
  return durationMs
}

/** `1s,2s,5s`. @throws UsageError */
export const parseDurations = (option: string, text: string): number[] =>
  text.split(',').map((part) => parseDurationOption(option, part.trim()))

/** `1000`, `100K`, `50M`. @returns bytes @throws UsageError */
export function parseBytes(option: string, text: string): number {
  const match = /^(\d{1,12})([kKmMgG]?)$/.exec(text)
  if (match === null)
    throw new UsageError(`${flagOf(option)} takes bytes like 1000, 100K or 50M, not '${text}'`)
  const powers: Readonly<Record<string, number>> = { k: 1, m: 2, g: 3 }
  return Number(match[1]) * 1024 ** (powers[(match[2] ?? '').toLowerCase()] ?? 0)
}

/** @throws UsageError */
export function parseCount(option: string, text: string, least: number): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : -1
  if (count < least)
    throw new UsageError(`${flagOf(option)} takes a number of at least ${least}, not '${text}'`)
  return count
}

/** `+`, `+-`. @throws UsageError */
export function parseDelimiters(option: string, text: string): string {
  if (!areDelimiters(text)) throw new UsageError(`${flagOf(option)} takes ${delimitersWanted}, not '${text}'`)
  return text
}

/** @throws UsageError */
export function parseWord<T extends string>(option: string, text: string, words: readonly T[]): T {
  const word = words.find((candidate) => candidate === text)
  if (word === undefined) throw new UsageError(`${flagOf(option)} takes ${words.join(' or ')}, not '${text}'`)
  return word
}

/** @throws UsageError */
export const parseYes = (option: string, text: string): boolean =>
  parseWord(option, text, ['yes', 'no']) === 'yes'
