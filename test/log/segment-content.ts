/** Segments as GroupCommit writes them, in memory: the batches are put where they belong. */
import { GroupCommit, type Batch } from '../../src/log/group-commit.js'
import { encodeSegmentHeader, SegmentGrid, segmentSeed } from '../../src/log/segment.js'
import { nowhere, type Position } from '../../src/base/position.js'
import { frameBytes, kinds } from '../../src/record/frame.js'

export const epochOf = (index: number): readonly [number, number] => [index + 1, 77]
export const seedOf = (index: number): number => segmentSeed(0, index, epochOf(index))

export class SegmentContent {
  readonly grid: SegmentGrid
  readonly commits: GroupCommit
  readonly segments: Map<number, Buffer> = new Map()
  readonly batches: { readonly index: number; readonly start: number; readonly end: number }[] = []

  constructor(segmentBytes: number, batchBytes: number, previousEnd: Position = nowhere, index = 0) {
    this.grid = new SegmentGrid(segmentBytes)
    this.commits = new GroupCommit({ grid: this.grid, seedOf, batchBytes, index, previousEnd })
    this.commits.begin(Buffer.from('checkpoint 0'), 1)
  }

  /** One group of frames with these payloads. Returns their positions. */
  append(payloads: readonly Buffer[], timeMs = 1): Position[] {
    const groupBytes = payloads.reduce((bytes, payload) => bytes + frameBytes(payload.length), 0)
    if (!this.commits.openHere(groupBytes)) this.commits.open(groupBytes, timeMs)
    return payloads.map((payload) => this.commits.append(kinds.data, 0, timeMs, payload))
  }

  /** Takes the next batch and puts it where it belongs; `written` is the caller's. */
  take(): Batch | undefined {
    const batch = this.commits.take(2)
    if (batch === undefined) return undefined
    const { index, offsetBytes, used } = batch
    const segment = this.segment(index)
    if (offsetBytes + used > segment.length) throw new RangeError(`the batch leaves segment ${index}`)
    batch.buffer.copy(segment, offsetBytes, 0, used)
    this.batches.push({ index, start: offsetBytes, end: offsetBytes + used })
    return batch
  }

  /** Everything appended becomes durable. */
  sync(): void {
    while (this.take() !== undefined) this.commits.written()
  }

  segment(index: number): Buffer {
    let segment = this.segments.get(index)
    if (segment === undefined) {
      const { segmentBytes } = this.grid
      segment = Buffer.alloc(segmentBytes)
      encodeSegmentHeader({ log: 0, index, segmentBytes, epoch: epochOf(index), life: 1 }).copy(segment)
      this.segments.set(index, segment)
    }
    return segment
  }
}
