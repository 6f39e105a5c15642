/** An undamaged queue taken apart by FORMAT.md alone, without anything of src/inspect: its batches,
 * its lanes, and for each message in it the frames and files that it is made of. Nothing is
 * verified: these bytes are known to be whole. */
import { ActiveMessage } from '../../src/active/active-message.js'
import { decodeCheckpoint, type Checkpoint } from '../../src/record/checkpoint.js'
import { decodeDelivery } from '../../src/record/delivery.js'
import { decodeEnvelope, type Envelope } from '../../src/record/envelope.js'
import { decodeFinish } from '../../src/record/finish.js'
import { classAt, frameBytesAt, kindAt, kinds, payloadAt, timeAt } from '../../src/record/frame.js'
import { decodeMarks } from '../../src/record/marks.js'
import { decodeReplaced } from '../../src/record/replaced.js'
import { decodeStart } from '../../src/record/start.js'
import { position, type Position } from '../../src/base/position.js'
import { WorkingSet, type WorkingMessage } from '../../src/recovery/working-set.js'
import type { Files } from './memory-disk.js'

const headerBytes = 4096

/** A frame in a segment's file. */
export interface FramePlace {
  readonly path: string
  /** 0 is the journal, 2n and 2n + 1 the logs of lane n. */
  readonly log: number
  readonly segment: number
  readonly at: number
  readonly position: Position
  readonly bytes: Buffer
}

export type Part =
  | { readonly kind: 'frame'; readonly frame: FramePlace }
  /** A separate file. */
  | { readonly kind: 'spool'; readonly path: string }

export interface TakenApart {
  readonly envelope: Envelope
  readonly isActive: boolean
  /** Recipients that wait, or failed without a word to the sender. */
  readonly owedCount: number
  readonly lane: number
  readonly parts: readonly Part[]
}

export class Anatomy {
  readonly files: Files
  readonly segmentBytes: number
  readonly laneSegmentBytes: number
  /** Segments of the journal that have a file, and the newest that was begun. */
  readonly indexes: readonly number[]
  readonly newest: number
  readonly checkpoint: Checkpoint
  /** Nothing of the journal before this is needed, but by messages. */
  readonly floor: number
  readonly messages: readonly TakenApart[]

  constructor(files: Files) {
    this.files = files
    const header = JSON.parse(files.get('queue.json')!.toString()) as Record<string, number>
    this.segmentBytes = header['segmentBytes']!
    this.laneSegmentBytes = header['laneSegmentBytes']!
    this.indexes = [...files.keys()]
      .flatMap((path) => /^journal\/([0-9a-f]{12})\.log$/.exec(path)?.[1] ?? [])
      .map((name) => Number.parseInt(name, 16))
      .sort((a, b) => a - b)
    this.newest = this.indexes.findLast((index) => this.batches(index).length > 0)!
    const newestBytes = files.get(this.path(0, this.newest))!
    const checkpoints = [...framesIn(newestBytes)].filter(
      (at) => kindAt(newestBytes, at) === kinds.checkpoint,
    )
    this.checkpoint = decodeCheckpoint(payloadAt(newestBytes, checkpoints.at(-1)!))
    const { suffix, lanes } = this.checkpoint
    this.floor = Math.min(suffix, ...lanes.filter(({ inJournal }) => inJournal).map(({ runner }) => runner))
    this.messages = this.#messages()
  }

  /** Offsets of a journal segment's batches: each names the end of the one before, so what a
   * recycled file held is none. */
  batches(index: number): (readonly [from: number, to: number])[] {
    const bytes = this.files.get(this.path(0, index))!
    const batches: (readonly [number, number])[] = []
    let from = headerBytes
    for (const at of framesIn(bytes)) {
      if (kindAt(bytes, at) !== kinds.commit) continue
      const previousEnd = Number(bytes.readBigUInt64LE(at + 16))
      if (batches.length > 0 && previousEnd !== index * this.segmentBytes + from) break
      const to = at + frameBytesAt(bytes, at)
      batches.push([from, to])
      from = to
    }
    return batches
  }

  path(log: number, index: number): string {
    const name = `${index.toString(16).padStart(12, '0')}.log`
    if (log === 0) return `journal/${name}`
    return `lanes/${log >> 1}/${log % 2 === 0 ? 'envelopes' : 'data'}/${name}`
  }

  gridOf(log: number): number {
    return log === 0 ? this.segmentBytes : this.laneSegmentBytes
  }

  /** Frames of a log that begin in [from, to). */
  *frames(log: number, from: number, to: number): Generator<FramePlace> {
    const grid = this.gridOf(log)
    for (let index = Math.floor(from / grid); index * grid + headerBytes < to; index++) {
      const path = this.path(log, index)
      const bytes = this.files.get(path)!
      const end = log === 0 ? (this.batches(index).at(-1)?.[1] ?? 0) : bytes.length
      for (const at of framesIn(bytes)) {
        if (at >= end) break
        const place = position(index * grid + at)
        if (place >= to) return
        if (place >= from) yield { path, log, segment: index, at, position: place, bytes }
      }
    }
  }

  frameAt(log: number, at: Position): FramePlace {
    for (const frame of this.frames(log, at, at + 1)) return frame
    throw new Error(`no frame at ${at} of log ${log}`)
  }

  #messages(): TakenApart[] {
    const { lanes } = this.checkpoint
    const journalEnd = (this.newest + 1) * this.segmentBytes
    const working = this.#working(journalEnd)
    const messages: TakenApart[] = []
    const take = (log: number, lane: number, at: Position, active?: WorkingMessage): void => {
      const frame = this.frameAt(log, at)
      const envelope = decodeEnvelope(payloadAt(frame.bytes, frame.at))
      const owedCount = active === undefined ? envelope.recipientCount : owedOf(envelope, active)
      const parts = this.#partsOf(envelope, frame, lane)
      messages.push({ envelope, isActive: active !== undefined, owedCount, lane, parts })
    }
    const logOf = (lane: number): number =>
      lanes.find((view) => view.lane === lane)!.inJournal ? 0 : 2 * lane
    for (const message of working.messages)
      take(logOf(message.place.lane), message.place.lane, message.place.position, message)
    for (const { lane, inJournal, runner, envelopesEnd, marks } of lanes) {
      const trace = working.lanes.get(lane)
      const from = Math.max(runner, trace?.runner ?? 0)
      const marked = new Set(trace?.marks)
      for (let at = marks; at >= from && at > 0;) {
        const frame = this.frameAt(logOf(lane), at)
        const { previous, envelopes } = decodeMarks(payloadAt(frame.bytes, frame.at))
        for (const envelope of envelopes) marked.add(envelope)
        at = previous
      }
      for (const { bytes, at, position: place } of this.frames(
        logOf(lane),
        from,
        inJournal ? journalEnd : envelopesEnd,
      ))
        if (kindAt(bytes, at) === kinds.envelope && classAt(bytes, at) === lane && !marked.has(place))
          take(logOf(lane), lane, place)
    }
    return messages
  }

  #partsOf({ data, recipientFrames }: Envelope, frame: FramePlace, lane: number): Part[] {
    const partOf = (of: FramePlace): Part => ({ kind: 'frame', frame: of })
    const before = (distance: number): Part =>
      partOf(this.frameAt(frame.log, position(frame.position - distance)))
    const parts = [partOf(frame), ...recipientFrames.map(before)]
    if (data.kind === 'before') parts.push(before(data.distanceBytes))
    if (data.kind === 'lane') parts.push(partOf(this.frameAt(2 * lane + 1, data.position)))
    if (data.kind === 'spool')
      parts.push({ kind: 'spool', path: `spool/${data.number.toString(16).padStart(12, '0')}.mail` })
    return parts
  }

  #working(journalEnd: number): WorkingSet {
    const { suffix, lanes } = this.checkpoint
    const trustedEnd = (lane: number): Position | undefined =>
      lanes.find((positions) => positions.lane === lane && !positions.inJournal)?.envelopesEnd
    const working = new WorkingSet({ suffix, trustedEnd })
    for (const { bytes, at, position: place } of this.frames(0, suffix, journalEnd)) {
      const payload = payloadAt(bytes, at)
      const lane = classAt(bytes, at)
      const kind = kindAt(bytes, at)
      if (kind === kinds.start) working.start(place, lane, decodeStart(payload))
      else if (kind === kinds.delivery) working.delivery(place, decodeDelivery(payload))
      else if (kind === kinds.finish) working.finish(place, decodeFinish(payload))
      else if (kind === kinds.replaced)
        working.replaced(place, lane, timeAt(bytes, at), decodeReplaced(payload))
      else if (kind === kinds.envelope) {
        const { replaces } = decodeEnvelope(payload)
        if (replaces !== 0) working.replacedBy(place, replaces)
      }
    }
    return working
  }
}

function owedOf(envelope: Envelope, { place, start, carried, records }: WorkingMessage): number {
  const active = new ActiveMessage(envelope, place, start, carried)
  for (const record of records) active.apply(record)
  const untold = envelope.sender === '' ? 0 : active.unreportedFailures().length
  return active.pendingCount + active.deferredCount + untold
}

/** Offsets of a frame: its checksum, what that covers, and the zeroes behind the payload, which
 * have to be zeroes. */
export const checkedOf = ({ bytes, at }: FramePlace): [from: number, to: number] => [
  at,
  at + frameBytesAt(bytes, at),
]

/** Offsets of a segment's frames, up to the zeroes behind them. */
function* framesIn(bytes: Buffer): Generator<number> {
  for (let at = headerBytes; at + 16 <= bytes.length && isKind(bytes, at); at += frameBytesAt(bytes, at))
    yield at
}

const isKind = (bytes: Buffer, at: number): boolean => kindAt(bytes, at) > 0 && kindAt(bytes, at) <= kinds.pad
