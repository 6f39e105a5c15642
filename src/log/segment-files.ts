/** The segments of one log, opened for reading when first needed.
 * Invariants: a segment's header is checked before its frames are read; at most `openFilesMax`
 * idle descriptors are kept; a descriptor in use is never closed, because a read could then
 * reach another file. */
import { position, type Position } from '../base/position.js'
import type { Disk, DiskFile } from '../disk/disk.js'
import { WaybillError, type Place } from '../errors.js'
import {
  frameBytes,
  payloadAt,
  verifyFrame,
  kindAt,
  timeAt,
  classAt,
  kindName,
  type KindName,
} from '../record/frame.js'
import { ReadAhead } from './read-ahead.js'
import { scanFrames } from './segment-scan.js'
import {
  decodeSegmentHeader,
  segmentHeaderBytes,
  segmentName,
  segmentSeed,
  type SegmentGrid,
  type ReadSegmentHeader,
} from './segment.js'

const openFilesMax = 8

export interface OpenSegment {
  readonly file: DiskFile
  readonly header: ReadSegmentHeader
  readonly seed: number
}

interface Handle {
  readonly opened: Promise<OpenSegment>
  users: number
  forgotten: boolean
}

export interface Frame {
  readonly kind: KindName
  readonly lane: number
  readonly timeMs: number
  readonly payload: Buffer
  /** The first position behind the frame. */
  readonly end: Position
}

/** @returns true to stop behind this frame */
export type PositionVisitor = (
  window: Buffer,
  at: number,
  position: Position,
  bytes: number,
) => boolean | void

export class SegmentFiles {
  readonly grid: SegmentGrid
  /** The log's name in errors. */
  readonly name: string
  readonly #disk: Disk
  readonly #directory: string
  readonly #log: number
  /** In order of use: the first is the one that was idle longest. */
  readonly #handles = new Map<number, Handle>()
  readonly #ahead = new ReadAhead()

  constructor(disk: Disk, directory: string, log: number, name: string, grid: SegmentGrid) {
    this.#disk = disk
    this.#directory = directory
    this.#log = log
    this.name = name
    this.grid = grid
  }

  /** Runs `use` with the segment open.
   * @throws WaybillError LOG_CORRUPT, FORMAT_NEWER, DISK_FAILED */
  async with<T>(index: number, use: (segment: OpenSegment) => Promise<T>): Promise<T> {
    const handle = this.#handles.get(index) ?? { opened: this.#open(index), users: 0, forgotten: false }
    this.#handles.delete(index)
    this.#handles.set(index, handle)
    handle.users++
    try {
      return await use(await handle.opened)
    } catch (error) {
      handle.forgotten = true
      // Another handle may have this place now; it would never be closed.
      if (this.#handles.get(index) === handle) this.#handles.delete(index)
      throw error
    } finally {
      handle.users--
      await this.#closeIdle(handle)
    }
  }

  /** The frame at a position, verified.
   * @param payloadBytes its length if it is known, so that one read fetches it
   * @throws WaybillError LOG_CORRUPT when there is no valid frame */
  async frame(at: Position, payloadBytes: number = 496): Promise<Frame> {
    const index = this.grid.indexOf(at)
    const offset = this.grid.offsetOf(at)
    return this.with(index, async ({ file, seed }) => {
      const wanted = frameBytes(payloadBytes)
      const ahead = await this.#ahead.ask(at, wanted, this.grid.at(index + 1, 0), (into) =>
        file.read(into, offset),
      )
      if (ahead !== undefined) {
        const inPiece = at - ahead.from
        const bytes = verifyFrame(ahead.bytes, inPiece, ahead.bytes.length, seed ^ offset)
        // A copy, because the piece is shared.
        if (bytes > 0) return frameIn(Buffer.from(ahead.bytes.subarray(inPiece, inPiece + bytes)), at, bytes)
      }
      let window = Buffer.allocUnsafe(wanted)
      let length = await file.read(window, offset)
      let bytes = verifyFrame(window, 0, length, seed ^ offset)
      if (bytes === 0 && length === window.length) {
        const whole = frameBytes(window.readUIntLE(4, 3))
        if (whole > window.length && offset + whole <= this.grid.segmentBytes) {
          window = Buffer.allocUnsafe(whole)
          length = await file.read(window, offset)
          bytes = verifyFrame(window, 0, length, seed ^ offset)
        }
      }
      if (bytes === 0) throw this.corrupt(at, 'no valid frame')
      return frameIn(window, at, bytes)
    })
  }

  /** Visits the frames in [from, end), over segment borders, until the visitor returns true.
   * Resolves with the position behind the last frame that it saw, at the border of a segment with
   * the first position of the next.
   * @param end the end of a frame, @param endOf where the content of an earlier segment ends
   * @param window what each read fills; default: a new one
   * @throws WaybillError LOG_CORRUPT when a frame before `end` does not verify */
  async read(
    from: Position,
    end: Position,
    endOf: (index: number) => Promise<Position>,
    visit: PositionVisitor,
    window?: Buffer,
  ): Promise<Position> {
    const { grid } = this
    // An end on the border of two segments is that of the first: there may be no second one yet.
    const lastIndex = grid.indexOf(position(end - 1))
    let at = from
    let stopped = false
    while (at < end && !stopped) {
      const index = grid.indexOf(at)
      at = position(Math.max(at, grid.firstOf(index)))
      const base = grid.at(index, 0)
      const isLast = index === lastIndex
      const segmentEnd = isLast ? end : await endOf(index)
      if (at < segmentEnd) {
        const offset = await this.with(index, ({ file, seed }) =>
          scanFrames(
            file,
            seed,
            at - base,
            segmentEnd - base,
            (filled, filledAt, offsetBytes, bytes) => {
              stopped = visit(filled, filledAt, position(base + offsetBytes), bytes) === true
              return stopped
            },
            window,
          ),
        )
        at = position(base + offset)
        if (at < segmentEnd && !stopped) throw this.corrupt(at, 'a frame does not verify')
      }
      if (at >= segmentEnd && !isLast) at = grid.firstOf(index + 1)
    }
    return at
  }

  /** Closes the idle descriptor of a segment that is about to be recycled or removed. */
  async forget(index: number): Promise<void> {
    this.#ahead.forget()
    const handle = this.#handles.get(index)
    if (handle === undefined) return
    this.#handles.delete(index)
    handle.forgotten = true
    await this.#closeIdle(handle)
  }

  /** The same for all of them. */
  async forgetAll(): Promise<void> {
    for (const index of this.#handles.keys()) await this.forget(index)
  }

  /** The error for a place of this log that should be valid and is not. */
  corrupt(at: Position, reason: string): WaybillError {
    return new WaybillError('LOG_CORRUPT', reason, this.placeOf(at))
  }

  placeOf(at: Position): Place {
    return { log: this.name, segment: this.grid.indexOf(at), offsetBytes: this.grid.offsetOf(at) }
  }

  async #open(index: number): Promise<OpenSegment> {
    const path = `${this.#directory}/${segmentName(index)}`
    const place = { log: this.name, segment: index, path }
    const file = await this.#disk.open(path, 'read')
    try {
      const block = Buffer.allocUnsafe(segmentHeaderBytes)
      const length = await file.read(block, 0)
      const header = decodeSegmentHeader(block.subarray(0, length), place)
      if (
        header.log !== this.#log ||
        header.index !== index ||
        header.segmentBytes !== this.grid.segmentBytes
      )
        throw new WaybillError('LOG_CORRUPT', 'the segment header is that of another segment', place)
      return { file, header, seed: segmentSeed(header.log, index, header.epoch) }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  async #closeIdle(handle: Handle): Promise<void> {
    if (handle.forgotten) {
      if (handle.users === 0) await handle.opened.then(({ file }) => file.close(), ignoreFailedOpen)
      return
    }
    if (this.#handles.size <= openFilesMax) return
    for (const [index, idle] of this.#handles) {
      if (idle.users > 0) continue
      this.#handles.delete(index)
      await idle.opened.then(({ file }) => file.close(), ignoreFailedOpen)
      return
    }
  }
}

/** The frame at the head of a buffer, @param at in the log. */
const frameIn = (window: Buffer, at: Position, bytes: number): Frame => ({
  kind: kindName(kindAt(window, 0))!,
  lane: classAt(window, 0),
  timeMs: timeAt(window, 0),
  payload: payloadAt(window, 0),
  end: position(at + bytes),
})

/** The user of the handle got the error; nothing is open. */
const ignoreFailedOpen = (): void => undefined
