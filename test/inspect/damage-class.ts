/** The class of a damage, decided before any command is asked:
 * `idle`: no byte that counts has changed (zeroes in reserve, what a recycled file held before,
 * garbage, spares, the lock); `torn`: of the newest segment the batches from one on to the last
 * were touched, and nothing else. A crash could have left that,
 *   and what must be seen is the queue without those batches;
 * `counts`: anything else. It must be found, and its place named. */
import { decodeSegmentHeader, segmentHeaderBytes } from '../../src/log/segment.js'
import { checkedOf, type Anatomy, type FramePlace } from './anatomy.js'
import type { Damaged } from './damage.js'
import type { Files } from './memory-disk.js'

/** Of a segment header, as far as it is checked. */
const headerCheckedBytes = 44

export interface Changed {
  /** As findings call it. */
  readonly log: string
  readonly segment: number | undefined
  /** The first byte that has changed, of each range that counts; 0 when the file is missing. Of
   * the newest segment's last batches only when nothing else has changed: they look like a torn
   * tail. */
  readonly offsetsBytes: readonly number[]
  /** Before the floor of its log, where nothing counts but what messages still hold. */
  readonly isPinned: boolean
}

export type DamageClass =
  | { readonly kind: 'idle' }
  /** @param batch the first that was touched, @param files the undamaged queue
   * without those batches */
  | { readonly kind: 'torn'; readonly batch: number; readonly files: Files }
  | { readonly kind: 'counts'; readonly changed: readonly Changed[] }

/** What counts of a file. */
interface Counted {
  readonly log: string
  readonly segment: number | undefined
  readonly ranges: (readonly [from: number, to: number])[]
  /** A segment of the journal, a spool file: neither shorter nor longer. */
  readonly isExact: boolean
  /** Prepared ahead: it need not be there. */
  readonly isOptional: boolean
  /** Offset in it of the floor of its log. */
  readonly floor: number
}

export class BytesThatCount {
  readonly #anatomy: Anatomy
  readonly #counted = new Map<string, Counted>()
  /** By log. */
  readonly #floors = new Map<number, number>()

  constructor(anatomy: Anatomy) {
    this.#anatomy = anatomy
    const { files, checkpoint, floor, segmentBytes, newest, indexes, messages } = anatomy
    this.#floors.set(0, floor)
    for (const index of indexes) {
      if (index < Math.floor(floor / segmentBytes)) continue
      const counted = this.#segment(0, index, true, index > newest)
      counted.ranges.push(...anatomy.batches(index))
    }
    for (const { lane, inJournal, runner, envelopesEnd, dataFloor, dataEnd } of checkpoint.lanes) {
      if (inJournal) continue
      this.#floors.set(2 * lane, runner).set(2 * lane + 1, dataFloor)
      for (const frame of anatomy.frames(2 * lane, runner, envelopesEnd)) this.#frame(frame)
      for (const frame of anatomy.frames(2 * lane + 1, dataFloor, dataEnd)) this.#frame(frame)
    }
    for (const part of messages.flatMap(({ parts }) => parts))
      if (part.kind === 'frame') this.#frame(part.frame)
      else this.#counted.set(part.path, spoolFile(part.path, files.get(part.path)!.length))
  }

  classOf({ files, paths }: Pick<Damaged, 'files' | 'paths'>): DamageClass {
    const changed = paths.flatMap((path) => this.#changedIn(path, files.get(path)) ?? [])
    if (changed.length === 0) return { kind: 'idle' }
    const { newest } = this.#anatomy
    const path = this.#anatomy.path(0, newest)
    const batches = this.#anatomy.batches(newest)
    const isElsewhere = changed.length > 1 || changed[0]!.log !== 'journal' || changed[0]!.segment !== newest
    const batch = isElsewhere ? undefined : this.#tornFrom(path, batches, files.get(path))
    if (batch === undefined) return { kind: 'counts', changed }
    const torn = Buffer.from(this.#anatomy.files.get(path)!).fill(0, batches[batch]![0])
    return { kind: 'torn', batch, files: new Map(this.#anatomy.files).set(path, torn) }
  }

  /** The first of the batches that were touched, when all behind it were too and nothing else
   * of the segment. */
  #tornFrom(
    path: string,
    batches: readonly (readonly [from: number, to: number])[],
    now: Buffer | undefined,
  ): number | undefined {
    const before = this.#anatomy.files.get(path)!
    if (now?.length !== before.length || !isSameSegment(before, now)) return undefined
    const touched = batches.map(([from, to]) => isTouched(before, now, from, to))
    const first = touched.indexOf(true)
    // Each batch was synced before the next one was written: a crash tears one, or leaves nothing
    // of those behind it.
    const lastEnd = batches.at(-1)![1]
    const hasCommit = !isTouched(before, now, lastEnd - before.readUInt32LE(lastEnd - 4), lastEnd)
    if (hasCommit && first < batches.length - 1) return undefined
    return first >= 0 && touched.slice(first).every(Boolean) ? first : undefined
  }

  /** Where the last batches of the newest segment begin that were touched, without one
   * between that was not. */
  #tailFrom(before: Buffer, now: Buffer): number {
    const batches = this.#anatomy.batches(this.#anatomy.newest)
    const lastSame = batches.findLast(([from, to]) => !isTouched(before, now, from, to))
    return lastSame?.[1] ?? segmentHeaderBytes
  }

  #changedIn(path: string, now: Buffer | undefined): Changed | undefined {
    const before = this.#anatomy.files.get(path)!
    if (path === 'queue.json')
      return saysTheSame(before, now)
        ? undefined
        : { log: path, segment: undefined, offsetsBytes: [0], isPinned: false }
    const counted = this.#counted.get(path)
    if (counted === undefined) return undefined
    const { log, segment, ranges, isExact, isOptional, floor } = counted
    const changedAt = (...offsetsBytes: number[]): Changed => {
      const isPinned = before.length <= floor || offsetsBytes.every((at) => at >= 4096 && at < floor)
      return { log, segment, offsetsBytes, isPinned }
    }
    if (now === undefined) return isOptional ? undefined : changedAt(0)
    const firsts = ranges.flatMap(([from, to]) => firstTouched(before, now, from, to) ?? [])
    const tailFrom =
      log === 'journal' && segment === this.#anatomy.newest ? this.#tailFrom(before, now) : Infinity
    const inFront = firsts.filter((first) => first < tailFrom)
    const touched = inFront.length > 0 ? inFront : firsts
    if (touched.length > 0) return changedAt(...touched.sort((a, b) => a - b))
    if (!isExact || now.length === before.length) return undefined
    return changedAt(Math.min(now.length, before.length))
  }

  #frame(frame: FramePlace): void {
    this.#segment(frame.log, frame.segment, false, false).ranges.push(checkedOf(frame))
  }

  #segment(log: number, segment: number, isExact: boolean, isOptional: boolean): Counted {
    const path = this.#anatomy.path(log, segment)
    const known = this.#counted.get(path)
    if (known !== undefined) return known
    const name = log === 0 ? 'journal' : `lane ${log >> 1} ${log % 2 === 0 ? 'envelopes' : 'data'}`
    const floor = this.#floors.get(log)! - segment * this.#anatomy.gridOf(log)
    const ranges: Counted['ranges'] = [[0, headerCheckedBytes]]
    const counted: Counted = { log: name, segment, ranges, isExact, isOptional, floor }
    this.#counted.set(path, counted)
    return counted
  }
}

const spoolFile = (path: string, bytes: number): Counted => ({
  log: path,
  segment: undefined,
  ranges: [[0, bytes]],
  isExact: true,
  isOptional: false,
  floor: 0,
})

/** Perhaps made in another life. */
function isSameSegment(before: Buffer, now: Buffer): boolean {
  try {
    const [one, other] = [before, now].map((bytes) =>
      decodeSegmentHeader(bytes.subarray(0, segmentHeaderBytes), {}),
    )
    return one!.log === other!.log && one!.index === other!.index && one!.segmentBytes === other!.segmentBytes
  } catch {
    return false
  }
}

const isTouched = (before: Buffer, now: Buffer, from: number, to: number): boolean =>
  !before.subarray(from, to).equals(now.subarray(from, to))

function firstTouched(before: Buffer, now: Buffer, from: number, to: number): number | undefined {
  if (!isTouched(before, now, from, to)) return undefined
  for (let at = from; at < to; at++) if (before[at] !== now[at]) return at
  return undefined
}

/** queue.json has no checksum: it counts by what it says. */
function saysTheSame(before: Buffer, now: Buffer | undefined): boolean {
  try {
    const [one, other] = [before, now!].map(
      (bytes) => JSON.parse(bytes.toString()) as Record<string, unknown>,
    )
    return ['format', 'segmentBytes', 'laneSegmentBytes'].every((name) => one![name] === other![name])
  } catch {
    return false
  }
}
