/** Formats for people: times, spans, sizes, addresses, foreign text. Pure, except for the time
 * zone.
 * Invariant: text from a message or a remote site cannot move the cursor or end a line. */
import { reasonText } from '../../../src/base/remote-reply.js'
import { countText, digitsText } from '../../../src/base/text.js'
import type { OutcomeNote } from '../../../src/record/outcome-note.js'

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

/** A cache of minutes, because listings repeat them, and local time is costly. */
const minutes = new Map<number, string>()
const minutesMax = 20_000

/** `Sat Nov 21 01:02:03`, local time, as asctime(3) writes it. */
export function shortTime(timeMs: number): string {
  const minute = Math.floor(timeMs / 60_000)
  let text = minutes.get(minute)
  if (text === undefined) {
    text = minuteText(timeMs)
    if (text === undefined) return '?'
    if (minutes.size >= minutesMax) minutes.clear()
    minutes.set(minute, text)
  }
  const second = secondOf(timeMs)
  return second < 10 ? `${text}0${second}` : `${text}${second}`
}

/** The same up to its second: `Sat Nov 21 01:02:`; undefined: there is no such time. */
export function minuteText(timeMs: number): string | undefined {
  const date = new Date(Math.floor(timeMs / 60_000) * 60_000)
  if (Number.isNaN(date.getTime())) return undefined
  const day = `${days[date.getDay()]} ${months[date.getMonth()]} ${String(date.getDate()).padStart(2)}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:`
}

/** No zone is off by a part of a minute since 1972. */
export const secondOf = (timeMs: number): number =>
  Math.floor(timeMs / 1000) - Math.floor(timeMs / 60_000) * 60

/** `2026-11-21 01:02:03.456`, local time. */
export function fullTime(timeMs: number): string {
  const date = new Date(timeMs)
  if (Number.isNaN(date.getTime())) return '?'
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${clock(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

const two = (value: number): string => String(value).padStart(2, '0')
const clock = (date: Date): string =>
  `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`

/** `1.5 MiB`, `17 bytes`. */
export function bytesText(bytes: number): string {
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  if (bytes < 1024) return countText(bytes, 'byte')
  let value = bytes
  let unit = ''
  for (const next of units) {
    if (value < 1024) break
    value /= 1024
    unit = next
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`
}

/** `5d3h`, `1h6m`, `40s`, `200ms`. */
export function durationText(ms: number): string {
  if (ms > 0 && ms < 1000) return `${Math.ceil(ms)}ms`
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ]
  const first = parts.findIndex(([count]) => count > 0)
  if (first < 0) return '0s'
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join('')
}

/** The usual kind, decided by one cheap test. */
const plain = /^[\x20-\x7e]*$/
const plainLines = /^[\t\n\x20-\x7e]*$/
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** Without controls and marks that turn the direction of writing. */
export const printable = (text: string): string => (plain.test(text) ? text : text.replace(unsafe, '?'))

/** The same for text with our own lines and tabs. */
export const harmless = (text: string): string =>
  plainLines.test(text)
    ? text
    : text.replace(unsafe, (found) => (found === '\n' || found === '\t' ? found : '?'))

/** The beginnings of our progress lines and colours, the longest first, and their ends. */
const ownBeginnings = ['\r\x1b[K', '\x1b[31m', '\r']
const ownEnds = ['\x1b[0m\n', '\x1b[0m', '\r']

/** Text for standard error: our own codes at its ends stay; others between are escaped. */
export function complaint(text: string): string {
  const before = ownBeginnings.find((own) => text.startsWith(own)) ?? ''
  const after = ownEnds.find((own) => text.length >= before.length + own.length && text.endsWith(own)) ?? ''
  return before + harmless(text.slice(before.length, text.length - after.length)) + after
}

/** The same JSON without them: it escapes the controls of ASCII only, and a terminal obeys
 * others. */
export const escapedJson = (json: string): string =>
  plain.test(json)
    ? json
    : json.replace(unsafe, (found) =>
        Array.from(
          { length: found.length },
          (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`,
        ).join(''),
      )

/** Many lines, each of them printable. */
export const printableLines = (text: string): string => text.split(/\r?\n/).map(printable).join('\n')

export const senderText = (sender: string): string => (sender === '' ? 'MAILER-DAEMON' : printable(sender))

/** Why a recipient waits: the server and its reply, each once. */
export const reasonOf = ({ status, text, remote }: Pick<OutcomeNote, 'status' | 'text' | 'remote'>): string =>
  printable(reasonText(status, text, remote))

/** Reasons by recipient's index. */
export function reasonsByIndex(
  notes: readonly OutcomeNote[],
  indexCount: number,
): (index: number) => string | undefined {
  const [only] = notes
  if (only === undefined) return () => undefined
  const { ranges } = only
  if (notes.length === 1 && ranges.length === 2 && ranges[0] === 0 && ranges[1]! >= indexCount - 1) {
    const reason = reasonOf(only)
    return () => reason
  }
  const reasons = notes.map(reasonOf)
  return (index) => {
    const at = notes.findIndex(({ ranges }) => {
      for (let i = 0; i < ranges.length; i += 2)
        if (index >= ranges[i]! && index <= ranges[i + 1]!) return true
      return false
    })
    return reasons[at]
  }
}

export type Cell = string | number

/** Rows as aligned text: words to the left, numbers to the right. @param heads names of the
 * columns */
export function table(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) => row.map(cellText))
  const widths = heads.map((head, column) =>
    cells.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), head.length),
  )
  const isNumber = heads.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'),
  )
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        isNumber[column] === true ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd()
  return [line(heads), ...cells.map(line)].join('\n')
}

const cellText = (cell: Cell): string => (typeof cell === 'number' ? digitsText(cell) : printable(cell))
