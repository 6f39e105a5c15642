/** A queue's directory as it is: the size of its segments, and readers for each log.
 * Invariant: sizes come from segment headers, which have checksums, before queue.json, which has
 * none. So a queue with a damaged or missing queue.json can be read. */
import type { Disk } from '../../disk/disk.js'
import { isWaybillError, WaybillError } from '../../errors.js'
import { journalDirectory } from '../../log/journal.js'
import type { SegmentFiles } from '../../log/segment-files.js'
import { decodeSegmentHeader, formatVersion, segmentHeaderBytes, segmentIndexOf } from '../../log/segment.js'
import { journalFiles, laneFiles, sideFiles, type LanePart } from '../../directory/log-files.js'
import { queueHeaderName, readQueueHeader, type QueueHeader } from '../../directory/header.js'
import { withOwnNames } from '../../directory/own-names.js'
import { isSideLog, lanesDirectory, sideLogNames, type SideLogName } from '../../directory/paths.js'
import { isDamage, isMissing, lostNothing, reasonOf, refusalFinding, type Report } from '../damage/finding.js'
import { readOnly } from './read-only-disk.js'
import { aroundRefusals } from '../damage/refused-blocks.js'
import type { LaneView } from './snapshot.js'

/** Which log a reader reads: the journal, one beside it, or one of a lane's two. */
export type LogName = 'journal' | SideLogName | `${number}/envelopes` | `${number}/data`

/** Of its segments. */
export const directoryOf = (name: LogName): string =>
  name === journalDirectory || isSideLog(name) ? name : `${lanesDirectory}/${name}`

export interface LogPlace {
  readonly name: LogName
  readonly directory: string
}

const laneSegmentBytesDefault = 16 * 1024 * 1024
/** Segments of one log that are tried before the size counts as unknown. */
const headersReadMax = 64

export class QueueDirectory {
  /** The disk of the engine: a refused block ends the reading of a file. */
  readonly disk: Disk
  readonly header: QueueHeader
  readonly #around: Disk

  private constructor(disk: Disk, around: Disk, header: QueueHeader) {
    this.disk = disk
    this.#around = around
    this.header = header
  }

  /** @param report called with damage of queue.json, and later with blocks that the disk refuses
   * @returns undefined if there is no queue
   * @throws WaybillError FORMAT_NEWER, NOT_A_QUEUE, DISK_FAILED */
  static async open(writable: Disk, report: Report): Promise<QueueDirectory | undefined> {
    const readable = withOwnNames(readOnly(writable))
    const disk: Disk = { ...readable, list: (path) => namesIn(readable, path, report) }
    const around = aroundRefusals(disk, (refused) => report(refusalFinding(refused)))
    let header: QueueHeader | undefined
    let trouble: Error | undefined
    try {
      header = await readQueueHeader(around)
    } catch (error) {
      if (!isDamage(error)) throw error
      trouble = error
    }
    const journal = await sizeIn(readable, journalDirectory)
    const lanes = await laneSize(disk, readable)
    if (journal === undefined || !('segmentBytes' in journal)) {
      trouble ??= journal?.newer
      if (trouble !== undefined) throw trouble
      return header === undefined ? undefined : new QueueDirectory(disk, around, header)
    }
    const { segmentBytes } = journal
    const laneSegmentBytes = lanes !== undefined && 'segmentBytes' in lanes ? lanes.segmentBytes : undefined
    const found: QueueHeader = {
      format: header?.format ?? formatVersion,
      segmentBytes,
      laneSegmentBytes: laneSegmentBytes ?? header?.laneSegmentBytes ?? laneSegmentBytesDefault,
    }
    judge(header, found, trouble, report)
    return new QueueDirectory(disk, around, found)
  }

  /** A reader without open files. It reads around refused blocks. */
  log(name: LogName): SegmentFiles {
    if (name === 'journal') return journalFiles(this.#around, this.header)
    if (isSideLog(name)) return sideFiles(this.#around, this.header, name).files
    const [lane, part] = name.split('/') as [string, LanePart]
    return laneFiles(this.#around, this.header, Number(lane), part).files
  }

  /** The journal as a start reads it: a refused block is an error. */
  journalOfStart(): SegmentFiles {
    return journalFiles(this.disk, this.header)
  }

  /** All logs with a directory, and those of lanes that should have one. */
  async logs(lanes: readonly Pick<LaneView, 'lane' | 'inJournal'>[] = []): Promise<LogPlace[]> {
    const found: LogPlace[] = [{ name: 'journal', directory: journalDirectory }]
    const there = (await this.disk.list(lanesDirectory)).map(Number)
    const known = lanes.filter(({ inJournal }) => !inJournal).map(({ lane }) => lane)
    for (const lane of [...new Set([...there, ...known])].sort((a, b) => a - b))
      for (const part of ['envelopes', 'data'] as const)
        found.push({ name: `${lane}/${part}`, directory: directoryOf(`${lane}/${part}`) })
    const sides = await this.disk.list('')
    for (const name of sideLogNames) if (sides.includes(name)) found.push({ name, directory: name })
    return found
  }

  /** Indexes of the segments in a log's directory, ascending. */
  async segments(directory: string): Promise<number[]> {
    return (await this.disk.list(directory)).map(segmentIndexOf).filter((index) => index !== undefined)
  }

  /** Length of a file, bytes; undefined if it is missing. */
  async size(path: string): Promise<number | undefined> {
    try {
      const file = await this.disk.open(path, 'read')
      try {
        return await file.size()
      } finally {
        await file.close()
      }
    } catch (error) {
      if (isWaybillError(error, 'DISK_FAILED')) return undefined
      throw error
    }
  }
}

/** Compares queue.json with the segments. */
function judge(
  header: QueueHeader | undefined,
  found: QueueHeader,
  trouble: Error | undefined,
  report: Report,
): void {
  const reason =
    trouble !== undefined
      ? reasonOf(trouble)
      : header === undefined
        ? 'the queue header is missing'
        : header.format !== found.format ||
            header.segmentBytes !== found.segmentBytes ||
            header.laneSegmentBytes !== found.laneSegmentBytes
          ? 'the queue header and the segment headers differ'
          : undefined
  if (reason !== undefined) report({ log: queueHeaderName, bytes: 0, reason, lost: lostNothing })
}

/** A name that is no directory, or is refused, counts as empty and is reported. */
async function namesIn(disk: Disk, path: string, report: Report): Promise<string[]> {
  try {
    return await disk.list(path)
  } catch (error) {
    if (path === '' || !isMissing(error)) throw error
    report({
      log: path,
      bytes: 0,
      reason: reasonOf(error),
      lost: 'its contents, and the queue does not open',
    })
    return []
  }
}

/** The size in the segments of a directory, if one has a known format. */
type SaidSize = { readonly segmentBytes: number } | { readonly newer: WaybillError } | undefined

async function laneSize(disk: Disk, readable: Disk): Promise<SaidSize> {
  let said: SaidSize
  for (const lane of await disk.list(lanesDirectory))
    for (const part of ['envelopes', 'data']) {
      said = (await sizeIn(readable, `${lanesDirectory}/${lane}/${part}`)) ?? said
      if (said !== undefined && 'segmentBytes' in said) return said
    }
  return said
}

/** By the first valid header. */
async function sizeIn(disk: Disk, directory: string): Promise<SaidSize> {
  let left = headersReadMax
  let said: SaidSize
  for (const name of await disk.list(directory).catch(() => [])) {
    if (segmentIndexOf(name) === undefined || left-- === 0) continue
    const path = `${directory}/${name}`
    try {
      const file = await disk.open(path, 'read')
      try {
        const block = Buffer.alloc(segmentHeaderBytes)
        await file.read(block, 0)
        return { segmentBytes: decodeSegmentHeader(block, { path }).segmentBytes }
      } finally {
        await file.close()
      }
    } catch (error) {
      // A later version may have continued this queue: earlier segments have our format.
      if (isWaybillError(error, 'FORMAT_NEWER')) said ??= { newer: error }
      else if (!isWaybillError(error, 'LOG_CORRUPT') && !isWaybillError(error, 'DISK_FAILED')) throw error
    }
  }
  return said
}
