/** Names of the files of the history, in the order in which they were begun. */
export const historyDirectory = 'history'

/** A name that no other consumer may have. */
export const historyConsumer = 'waybill.history'

export interface HistoryFile {
  readonly number: number
  /** The hour of its entries, milliseconds since 1970. */
  readonly hourMs: number
}

export const hourOf = (wallMs: number): number => Math.floor(wallMs / 3_600_000) * 3_600_000

const hourText = (hourMs: number): string => new Date(hourMs).toISOString().slice(0, 13).replace('T', '-')
const baseOf = ({ number, hourMs }: HistoryFile): string =>
  `${historyDirectory}/${String(number).padStart(12, '0')}-${hourText(hourMs)}`

export const linesPath = (file: HistoryFile): string => `${baseOf(file)}.jsonl`
export const filterPath = (file: HistoryFile): string => `${baseOf(file)}.keys`

const pattern = /^(\d{12})-(\d{4}-\d\d-\d\d)-(\d\d)\.jsonl$/

/** Those that are there, of the names in the directory; other names are nobody's. */
export function historyFiles(names: readonly string[]): HistoryFile[] {
  const files = names.flatMap((name) => {
    const [, number, day, hour] = pattern.exec(name) ?? []
    return number === undefined ? [] : [{ number: Number(number), hourMs: Date.parse(`${day}T${hour}:00Z`) }]
  })
  return files.sort((a, b) => a.number - b.number)
}

const filterPattern = /^(\d{12}-\d{4}-\d\d-\d\d-\d\d)\.keys$/

/** Paths of indexes whose lines are gone. */
export function lonelyFilters(names: readonly string[]): string[] {
  const all = new Set(names)
  return names.flatMap((name) => {
    const [, base] = filterPattern.exec(name) ?? []
    return base === undefined || all.has(`${base}.jsonl`) ? [] : [`${historyDirectory}/${name}`]
  })
}

const clockErrorMs = 3_600_000

/** When the last entry of the first file was written, at the latest. A file whose name is ahead of
 * the clock was begun by a clock that was wrong: it is as old as the next one that is not.
 * @param files in their order @param nowMs milliseconds since 1970 */
export function oldestEndMs(files: readonly HistoryFile[], nowMs: number): number {
  const told = files.find(({ hourMs }) => hourMs <= nowMs + clockErrorMs)
  return (told?.hourMs ?? nowMs) + 3_600_000
}
