/** A lane's chain of marks, read back from the newest record. */
import { expect, test } from 'vitest'
import { nowhere, position, type Position } from '../../src/base/position.js'
import { SegmentFiles } from '../../src/log/segment-files.js'
import { segmentName } from '../../src/log/segment.js'
import { frameBytes, kinds, type Kind } from '../../src/record/frame.js'
import { encodeMarks } from '../../src/record/marks.js'
import { readMarks } from '../../src/recovery/read-suffix.js'
import { memoryDisk } from '../log/memory-disk.js'
import { SegmentContent } from '../log/segment-content.js'

/** Appends a record that names these envelopes and the record before it. */
function append(
  log: SegmentContent,
  envelopes: readonly number[],
  previous: Position,
  kind: Kind = kinds.marks,
): Position {
  const payload = encodeMarks({ previous, envelopes: envelopes.map(position) })
  log.commits.open(frameBytes(payload.length), 1)
  const at = log.commits.append(kind, 2, 1, payload)
  log.sync()
  return at
}

const filesOf = (log: SegmentContent): SegmentFiles =>
  new SegmentFiles(
    memoryDisk(new Map([[`journal/${segmentName(0)}`, log.segment(0)]])),
    'journal',
    0,
    'journal',
    log.grid,
  )

test('marks from the newest record back to the runner are found, those that it has passed are not', async () => {
  const log = new SegmentContent(8 * 4096, 4096)
  const passed = append(log, [4096], nowhere)
  const first = append(log, [4096, 4200], passed)
  const last = append(log, [first - 8], first)
  // What stands before the runner is not looked at.
  log.segment(0)[passed + 20]! ^= 1
  expect(await readMarks(filesOf(log), last, position(4200))).toEqual([first - 8, 4200])
})

test('a chain that leads to another record is damage with its place', async () => {
  const log = new SegmentContent(8 * 4096, 4096)
  const other = append(log, [4096], nowhere, kinds.replaced)
  const last = append(log, [4200], other)
  await expect(readMarks(filesOf(log), last, nowhere)).rejects.toMatchObject({
    code: 'LOG_CORRUPT',
    place: { segment: 0, offsetBytes: other },
  })
})
