/** Writes outcomes into the files of the history.
 * Invariants:
 * 1. `append` settles when the outcomes are durable; so the consumer is done with none that a crash
 *    can take. What a crash has the consumer get again is written again, and passed over by
 *    readers, because its number is not above the last one.
 * 2. A life begins a new file, and after a failure too: a failed sync says nothing of the old one.
 * 3. A block of a file is written once: a torn write leaves rubbish in all of it.
 * 4. Files go whole, the oldest first, by age and by the bytes of all. A clock that is set ahead
 *    makes none old: an age is the one by the wall clock or by the life's, whichever is less. */
import type { Disk, DiskFile } from '../disk/disk.js'
import { unlinkIfThere } from '../disk/names.js'
import type { Now } from '../engine/settle/message-age.js'
import type { OutcomeGap } from '../engine/outcomes/consume.js'
import { roundUpToBlock } from '../log/segment.js'
import type { QueueOutcome } from '../record/outcome.js'
import { keysOf } from './history-entry.js'
import {
  filterPath,
  historyDirectory,
  historyFiles,
  hourOf,
  linesPath,
  lonelyFilters,
  oldestEndMs,
  type HistoryFile,
} from './history-files.js'
import { KeyFilter } from './key-filter.js'

/** A file has about as many entries as its filter knows apart. */
const fileBytesMax = 16 * 1024 * 1024

export interface HistoryBounds {
  readonly retentionMs: number
  readonly bytesMax: number
}

/** With a line of blanks up to the end of the block. */
function inBlocks(lines: string): Buffer {
  const bytes = Buffer.byteLength(lines)
  const padBytes = roundUpToBlock(bytes) - bytes
  return Buffer.from(padBytes === 0 ? lines : `${lines}${' '.repeat(padBytes - 1)}\n`)
}

interface Current extends HistoryFile {
  readonly file: DiskFile
  readonly filter: KeyFilter
  lengthBytes: number
}

export class HistoryWriter {
  readonly #disk: Disk
  readonly #bounds: HistoryBounds
  #current: Current | undefined
  /** All others, oldest first, with their bytes. */
  readonly #old: (HistoryFile & { readonly bytes: number })[] = []
  #isOpen = false
  #number = 0

  constructor(disk: Disk, bounds: HistoryBounds) {
    this.#disk = disk
    this.#bounds = bounds
  }

  /** @throws WaybillError DISK_FULL, DISK_FAILED: `giveUp` follows */
  async append(items: readonly (QueueOutcome | OutcomeGap)[], now: Now): Promise<void> {
    if (!this.#isOpen) await this.#open()
    const outcomes = items.filter((item) => item.kind !== 'gap')
    const lines = inBlocks(outcomes.map((outcome) => `${JSON.stringify(outcome)}\n`).join(''))
    const current = await this.#fileFor(now, lines.length)
    for (const outcome of outcomes) for (const key of keysOf(outcome)) current.filter.add(key)
    await current.file.write(lines, current.lengthBytes)
    current.lengthBytes += lines.length
    await current.file.sync()
  }

  /** Removes files that are too old, or too many. */
  async trim({ wallMs, unsetWallMs }: Now): Promise<void> {
    const { retentionMs, bytesMax } = this.#bounds
    const nowMs = Math.min(wallMs, unsetWallMs)
    if (!this.#isOpen) await this.#open()
    if (this.#current !== undefined && this.#current.hourMs !== hourOf(wallMs)) await this.#end(this.#current)
    const currentBytes = this.#current === undefined ? 0 : fileBytesMax + this.#current.filter.bytes.length
    let bytes = this.#old.reduce((sum, file) => sum + file.bytes, currentBytes)
    for (let [oldest] = this.#old; oldest !== undefined; [oldest] = this.#old) {
      if (bytes <= bytesMax && oldestEndMs(this.#old, nowMs) > nowMs - retentionMs) return
      await unlinkIfThere(this.#disk, linesPath(oldest))
      await unlinkIfThere(this.#disk, filterPath(oldest))
      bytes -= oldest.bytes
      this.#old.shift()
    }
  }

  /** After a failure. */
  async giveUp(): Promise<void> {
    const current = this.#current
    this.#current = undefined
    this.#isOpen = false
    await current?.file.close()
  }

  async #open(): Promise<void> {
    await this.#disk.makeDirectory(historyDirectory)
    await this.#disk.syncDirectory('')
    this.#old.length = 0
    const names = await this.#disk.list(historyDirectory)
    const paths = new Set(names.map((name) => `${historyDirectory}/${name}`))
    // Of files whose removal a crash has cut short.
    for (const path of lonelyFilters(names)) await unlinkIfThere(this.#disk, path)
    for (const file of historyFiles(names)) {
      this.#number = Math.max(this.#number, file.number)
      let bytes = 0
      for (const path of [linesPath(file), filterPath(file)])
        if (paths.has(path)) bytes += (await this.#disk.stat(path)).lengthBytes
      this.#old.push({ ...file, bytes })
    }
    this.#isOpen = true
  }

  async #fileFor(now: Now, bytes: number): Promise<Current> {
    const hourMs = hourOf(now.wallMs)
    const current = this.#current
    if (current !== undefined && current.hourMs === hourMs && current.lengthBytes + bytes <= fileBytesMax)
      return current
    if (current !== undefined) await this.#end(current)
    await this.trim(now)
    const next = { number: ++this.#number, hourMs }
    const file = await this.#disk.open(linesPath(next), 'create')
    this.#current = { ...next, file, filter: new KeyFilter(), lengthBytes: 0 }
    await this.#disk.syncDirectory(historyDirectory)
    return this.#current
  }

  /** Its filter need not be durable: a file without one is read. */
  async #end({ number, hourMs, file, filter, lengthBytes }: Current): Promise<void> {
    this.#current = undefined
    await file.close()
    const kept = await this.#disk.open(filterPath({ number, hourMs }), 'create')
    await kept.write(filter.sealed, 0)
    await kept.sync()
    await kept.close()
    this.#old.push({ number, hourMs, bytes: lengthBytes + filter.bytes.length })
  }
}
