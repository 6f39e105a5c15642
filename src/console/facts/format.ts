/** Numbers, spans, times and foreign text as people read them. Pure, except for the reader's time
 * zone.
 * Invariant: what comes from a message or a remote site shows what it hides: marks that turn the
 * direction of writing and controls stand there as their code points. */

/** Between digits in threes: narrow, and no line ends there. */
const thin = '\u202f'

/** `1 234 567`. */
export const digits = (count: number): string => String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, thin)

/** `1 message`, `1 234 messages`. */
export const counted = (count: number, noun: string, more: string = `${noun}s`): string =>
  `${digits(count)} ${count === 1 ? noun : more}`

/** Of events a second: `0`, `0.4`, `12`, `1 234`. */
export const rateDigits = (perSecond: number): string =>
  perSecond === 0 ? '0' : perSecond < 9.95 ? perSecond.toFixed(1) : digits(perSecond)

/** At an axis: a step of a quarter keeps both of its digits. */
export const axisDigits = (value: number): string =>
  Number.isInteger(value) ? digits(value) : String(Number(value.toFixed(2)))

const byteUnits = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** `17 bytes`, `1.5 MiB`, `240 GiB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return counted(bytes, 'byte')
  const power = Math.min(byteUnits.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** power
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${byteUnits[power]}`
}

const spans: readonly [ms: number, unit: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
]

/** The two largest units: `5d3h`, `1h6m`, `40s`, `200ms`, as the command writes them. */
export function spanText(ms: number): string {
  if (ms === Infinity) return 'for ever'
  if (ms > 0 && ms < 1000) return `${Math.ceil(ms)}ms`
  const first = spans.findIndex(([unitMs]) => ms >= unitMs)
  if (first < 0) return '0s'
  const [unitMs, unit] = spans[first]!
  const [nextMs, next] = spans[first + 1] ?? [1, '']
  const rest = next === '' ? 0 : Math.floor((ms % unitMs) / nextMs)
  return `${Math.floor(ms / unitMs)}${unit}${rest === 0 ? '' : `${rest}${next}`}`
}

/** `in 4m`, `12m ago`, `now`. */
export function fromNow(timeMs: number, nowMs: number): string {
  const ms = timeMs - nowMs
  if (Math.abs(ms) < 1000) return 'now'
  return ms > 0 ? `in ${spanText(ms)}` : `${spanText(-ms)} ago`
}

const two = (value: number): string => String(value).padStart(2, '0')

export interface ShownTime {
  /** The reader's: `26 Nov 04:31:07`, with the year where it is another one. */
  readonly local: string
  /** The log's: `2026-11-26 03:31:07Z`. */
  readonly utc: string
  readonly iso: string
}

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

export function shownTime(timeMs: number, nowMs: number): ShownTime {
  const date = new Date(timeMs)
  if (Number.isNaN(date.getTime())) return { local: '?', utc: '?', iso: '' }
  const iso = date.toISOString()
  const year = date.getFullYear() === new Date(nowMs).getFullYear() ? '' : ` ${date.getFullYear()}`
  const day = `${date.getDate()} ${monthNames[date.getMonth()]}${year}`
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  return { local: `${day} ${clock}`, utc: `${iso.slice(0, 10)} ${iso.slice(11, 19)}Z`, iso }
}

/** The reader's zone: `UTC`, `UTC+1`, `UTC−3:30`. */
export function zoneText(timeMs: number): string {
  const minutes = -new Date(timeMs).getTimezoneOffset()
  if (minutes === 0) return 'UTC'
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  return `UTC${minutes > 0 ? '+' : '\u2212'}${hours}${rest === 0 ? '' : `:${two(rest)}`}`
}

const hiding = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu
const plain = /^[\x20-\x7e]*$/

/** Foreign text on one line, at most `charsMax` characters of it. */
export function shown(text: string, charsMax: number = 2000): string {
  const cut = text.length > charsMax ? `${text.slice(0, charsMax)}…` : text
  if (plain.test(cut)) return cut
  return cut.replace(
    hiding,
    (found) => `⟨U+${found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`,
  )
}

/** The same of text with lines. */
export const shownLines = (text: string, charsMax: number = 200_000): string =>
  (text.length > charsMax ? `${text.slice(0, charsMax)}…` : text)
    .split(/\r?\n/)
    .map((line) =>
      line
        .split('\t')
        .map((part) => shown(part, charsMax))
        .join('\t'),
    )
    .join('\n')

/** The sender; '' is the null sender, of reports. */
export const senderText = (sender: string): string => (sender === '' ? '<> (a report)' : shown(sender))
