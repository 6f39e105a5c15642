/** Where the journal ends, and the checkpoint to start from: newest begun segment, first batch, then forwards.
 * Reads, decides by tail.ts, and refuses what is corrupt; writes nothing. */
import { nowhere, position, type Position } from '../base/position.js'
import type { OpenSegment, SegmentFiles } from '../log/segment-files.js'
import { countsBehind, scanBatches, type BatchScan } from '../log/segment-scan.js'
import { segmentHeaderBytes, segmentIndexOf } from '../log/segment.js'
import { kindAt, kinds, payloadAt } from '../record/frame.js'
import { tailVerdict } from './tail.js'

export interface JournalTail {
  /** The newest begun segment; −1 when the journal was never written. */
  readonly index: number
  /** Behind the last commit that counts. */
  readonly end: Position
  /** The last batch that counts, to be rewritten in place. */
  readonly lastBatch: { readonly offsetBytes: number; readonly bytes: number } | undefined
  /** The newest checkpoint's payload. */
  readonly checkpoint: Buffer | undefined
  /** Segments that never began, above `index`. */
  readonly unbegun: readonly number[]
  /** All begun segments, ascending. */
  readonly begun: readonly number[]
  /** Bytes of valid frames behind `end`: of a batch that was torn. */
  readonly cutBytes: number
  /** The highest life that a segment was made in. */
  readonly life: number
}

/** Of a journal that was never written. */
export const emptyTail: JournalTail = {
  index: -1,
  end: nowhere,
  lastBatch: undefined,
  checkpoint: undefined,
  unbegun: [],
  begun: [],
  cutBytes: 0,
  life: 0,
}

interface Examined {
  readonly scan: BatchScan
  readonly checkpoint: Buffer | undefined
  readonly cutBytes: number
  readonly life: number
}

/** @param names of the journal's directory
 * @throws WaybillError LOG_CORRUPT with the place of what does not verify, FORMAT_NEWER */
export async function findTail(files: SegmentFiles, names: readonly string[]): Promise<JournalTail> {
  const indexes = names.map(segmentIndexOf).filter((index) => index !== undefined)
  const unbegun: number[] = []
  let life = 0
  let tornBytes = 0
  for (let i = indexes.length - 1; i >= 0; i--) {
    const index = indexes[i]!
    const examined = await examine(files, index)
    await files.forget(index)
    life = Math.max(life, examined.life)
    const { first, last } = examined.scan
    if (first === undefined || last === undefined) {
      unbegun.push(index)
      tornBytes += examined.cutBytes
      continue
    }
    return {
      index,
      end: files.grid.at(index, last.end),
      lastBatch: { offsetBytes: last.start, bytes: last.end - last.start },
      checkpoint: examined.checkpoint,
      unbegun,
      begun: indexes.slice(0, i + 1),
      cutBytes: tornBytes + examined.cutBytes,
      life,
    }
  }
  return { ...emptyTail, unbegun, life }
}

async function examine(files: SegmentFiles, index: number): Promise<Examined> {
  const { grid } = files
  return files.with(index, async (segment) => {
    const found = await scan(segment, grid.segmentBytes)
    const stopped = found.scan.last?.end ?? segmentHeaderBytes
    const behind = await countsBehind(segment, grid.at(index, 0), stopped, grid.segmentBytes)
    const verdict = tailVerdict({
      headerValid: true,
      firstCounts: found.scan.first !== undefined,
      countsBehind: behind !== undefined,
    })
    if (verdict === 'corrupt')
      throw files.corrupt(
        position(grid.at(index, stopped)),
        `a batch does not verify, but the one at offset ${behind} does, which was written after it was synced`,
      )
    return { ...found, life: segment.header.life }
  })
}

/** Scans the batches and keeps the newest checkpoint of those that count. */
async function scan(
  segment: OpenSegment,
  segmentBytes: number,
): Promise<{ scan: BatchScan; checkpoint: Buffer | undefined; cutBytes: number }> {
  const checkpoints: { readonly offset: number; readonly payload: Buffer }[] = []
  let visitedTo = segmentHeaderBytes
  const result = await scanBatches(segment, segmentBytes, (window, at, offset, bytes) => {
    visitedTo = offset + bytes
    if (kindAt(window, at) !== kinds.checkpoint) return
    // The last two: the newest may stand in a batch that turns out not to count.
    if (checkpoints.length === 2) checkpoints.shift()
    checkpoints.push({ offset, payload: Buffer.from(payloadAt(window, at)) })
  })
  const end = result.last?.end ?? segmentHeaderBytes
  const counted = checkpoints.filter(({ offset }) => offset < end)
  return { scan: result, checkpoint: counted.at(-1)?.payload, cutBytes: Math.max(0, visitedTo - end) }
}
