/** Where an inspection sees the journal end when a start would refuse. */
import { expect, test } from 'vitest'
import { viewJournal } from '../../../src/inspect/queue/journal-view.js'
import { SegmentFiles } from '../../../src/log/segment-files.js'
import { segmentHeaderBytes, segmentName } from '../../../src/log/segment.js'
import { encodeCheckpoint } from '../../../src/record/checkpoint.js'
import { kinds } from '../../../src/record/frame.js'
import { memoryDisk } from '../../log/memory-disk.js'
import { SegmentContent } from '../../log/segment-content.js'

const segmentBytes = 8 * 4096

test('a rotted first batch is told of once, not again for the segment that was made ahead behind it', async () => {
  const log = new SegmentContent(segmentBytes, 4096)
  const checkpoint = { life: 1, suffix: log.grid.firstOf(0), lanes: [], laneNext: 0, spoolHighest: 0 }
  const payload = encodeCheckpoint({ ...checkpoint, spoolPending: [] })
  const at = log.commits.append(kinds.checkpoint, 0, 1, payload)
  log.commits.rememberCheckpoint(payload, at)
  log.sync()
  const later = new SegmentContent(segmentBytes, 4096, log.grid.at(1, 2 * segmentHeaderBytes), 2)
  later.sync()
  later.segment(2)[segmentHeaderBytes + 4000]! ^= 1
  const files = new Map([0, 2, 3].map((index) => [`journal/${segmentName(index)}`, later.segment(index)]))
  files.set(`journal/${segmentName(0)}`, log.segment(0))
  const journal = new SegmentFiles(memoryDisk(files), 'journal', 0, 'journal', log.grid)
  const { newest, findings } = await viewJournal(journal, journal, [0, 2, 3].map(segmentName))
  expect(newest).toBe(0)
  expect(findings).toMatchObject([{ log: 'journal', segment: 2, offsetBytes: segmentHeaderBytes }])
})
