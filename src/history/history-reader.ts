/** Looks for entries of the history, page by page, oldest first. It only reads: beside the queue's
 * owner, or without one.
 * Invariant: memory is one block of a file, whatever there is. A file that is removed meanwhile
 * counts as empty. The first line that cannot be read ends its file:
 *    1. a batch is written and not synced; power loss takes a sector in the middle of it
 *    2. the next file has the whole batch again
 *    3. a reader that has passed the hole takes the lines of the second for known ones */
import type { Disk } from '../disk/disk.js'
import { checkOptionNames, integerOption, signalOption } from '../base/options.js'
import { isWaybillError, WaybillError } from '../errors.js'
import { queryOf, type HistoryEntry, type HistoryQuery, type HistorySelector } from './history-entry.js'
import { filterPath, historyDirectory, historyFiles, linesPath, type HistoryFile } from './history-files.js'
import { KeyFilter } from './key-filter.js'

export interface HistoryPageOptions {
  /** The most entries of a page, 1 … 1000. Default 100. */
  readonly max?: number | undefined
  /** `next` of the page before. */
  readonly after?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface HistoryPage {
  readonly entries: readonly HistoryEntry[]
  /** The place of the next page; undefined behind the last one. */
  readonly next: string | undefined
  /** The queue keeps a history. Otherwise there are only entries that an earlier life has kept. */
  readonly isKept: boolean
}

const maxDefault = 100
const entryCountMax = 1000
const blockBytes = 1 << 20

/** Where a search goes on: a file, an offset in it, and the last outcome seen. A crash may have
 * written outcomes again. */
interface Place {
  readonly file: number
  readonly offset: number
  readonly number: number
}

const textOf = ({ file, offset, number }: Place): string => `${file}-${offset}-${number}`

/** @throws WaybillError OPTION_INVALID: it is not `next` of a page */
export const checkPlace = (after: string | undefined): void => void placeOf(after)

/** @throws WaybillError OPTION_INVALID */
function placeOf(text: string | undefined): Place {
  if (text === undefined) return { file: 0, offset: 0, number: 0 }
  const [, file, offset, number] = /^(\d{1,12})-(\d{1,15})-(\d{1,15})$/.exec(text) ?? []
  if (number === undefined)
    throw new WaybillError('OPTION_INVALID', 'expected `next` of a page', { option: 'after' })
  return { file: Number(file), offset: Number(offset), number: Number(number) }
}

/** @throws WaybillError OPTION_INVALID, DISK_FAILED */
export async function readHistory(
  disk: Pick<Disk, 'list' | 'open'>,
  selector: HistorySelector,
  options: HistoryPageOptions = {},
): Promise<Omit<HistoryPage, 'isKept'>> {
  checkOptionNames(options, { max: true, after: true, signal: true })
  const { max = maxDefault, after, signal } = options
  integerOption('max', max, 1, entryCountMax)
  signalOption(signal)
  const query = queryOf(selector)
  const from = placeOf(after)
  const entries: HistoryEntry[] = []
  let { number } = from
  for (const file of historyFiles(await disk.list(historyDirectory))) {
    if (file.number < from.file || !(await mayHave(disk, file, query))) continue
    for await (const { entry, end } of linesOf(disk, file, file.number === from.file ? from.offset : 0)) {
      if (signal?.aborted === true) throw new WaybillError('VERB_ABORTED', 'the search was aborted')
      if (entry.number <= number || !query.matches(entry)) continue
      number = entry.number
      entries.push(entry)
      if (entries.length === max) return { entries, next: textOf({ file: file.number, offset: end, number }) }
    }
  }
  return { entries, next: undefined }
}

async function mayHave(disk: Pick<Disk, 'open'>, file: HistoryFile, { key }: HistoryQuery): Promise<boolean> {
  // The file that is being written has none yet.
  const bytes = await wholeFile(disk, filterPath(file))
  const filter = bytes && KeyFilter.ofFile(bytes)
  return filter === undefined || filter.mayHave(key)
}

async function wholeFile(disk: Pick<Disk, 'open'>, path: string): Promise<Buffer | undefined> {
  const file = await opened(disk, path)
  if (file === undefined) return undefined
  try {
    const bytes = Buffer.alloc(await file.size())
    return bytes.subarray(0, await file.read(bytes, 0))
  } finally {
    await file.close()
  }
}

async function opened(
  disk: Pick<Disk, 'open'>,
  path: string,
): Promise<Awaited<ReturnType<Disk['open']>> | undefined> {
  try {
    return await disk.open(path, 'read')
  } catch (error) {
    if (isWaybillError(error) && error.place.errno === 'ENOENT') return undefined
    throw error
  }
}

/** @param offset of a line @returns entries, each with the offset behind it */
async function* linesOf(
  disk: Pick<Disk, 'open'>,
  history: HistoryFile,
  offset: number,
): AsyncGenerator<{ readonly entry: HistoryEntry; readonly end: number }> {
  const file = await opened(disk, linesPath(history))
  if (file === undefined) return
  try {
    let rest: Buffer = Buffer.alloc(0)
    for (let at = offset; ;) {
      const block = Buffer.alloc(blockBytes)
      const readBytes = await file.read(block, at)
      if (readBytes === 0) return
      const begin = at - rest.length
      at += readBytes
      const bytes: Buffer = Buffer.concat([rest, block.subarray(0, readBytes)])
      let start = 0
      for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
        const line = bytes.toString('utf8', start, end)
        start = end + 1
        // Up to the end of a block.
        if (/^ *$/.test(line)) continue
        const entry = entryOf(line)
        if (entry === undefined) return
        yield { entry, end: begin + start }
      }
      rest = bytes.subarray(start)
    }
  } finally {
    await file.close()
  }
}

/** undefined: the line is cut, or has rotted. */
function entryOf(line: string): HistoryEntry | undefined {
  try {
    const entry = JSON.parse(line) as Partial<HistoryEntry> | null
    const isWhole = typeof entry?.number === 'number' && typeof entry.id === 'string'
    return isWhole && Array.isArray(entry.recipients) ? (entry as HistoryEntry) : undefined
  } catch {
    return undefined
  }
}
