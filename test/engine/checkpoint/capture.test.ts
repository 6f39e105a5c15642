/** What a checkpoint takes along in one step fits the logs that it stands in. */
import { expect, test } from 'vitest'
import { position } from '../../../src/base/position.js'
import { seededPrng } from '../../../src/base/prng.js'
import { marksBytes, readyForCapture } from '../../../src/engine/checkpoint/capture.js'
import type { Parts } from '../../../src/engine/life/parts.js'
import { Lane } from '../../../src/lane/lane.js'
import type { Journal } from '../../../src/log/journal.js'
import { LaneLog } from '../../../src/log/lane-log.js'
import { SegmentFiles } from '../../../src/log/segment-files.js'
import { SegmentGrid, segmentHeaderBytes } from '../../../src/log/segment.js'
import { readMarks } from '../../../src/recovery/read-suffix.js'
import { SimDisk } from '../../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../../src/sim/world/world.js'

const segmentBytes = 8 * 4096
const born = position(segmentHeaderBytes)

/** As after a recovery that could not read the records of what was marked. */
test('more marks than a lane has room for at once are recorded bit by bit before a capture', async () => {
  const world = new SimWorld({ seed: 1 })
  const disk = new SimDisk(world)
  const waiting: (() => void)[] = []
  const failures: unknown[] = []
  const envelopes = new LaneLog({
    disk,
    directory: 'lane',
    log: 2,
    life: 1,
    prng: seededPrng(3),
    files: new SegmentFiles(disk, 'lane', 2, 'lane 1 envelopes', new SegmentGrid(segmentBytes)),
    end: born,
    onSegment: () => undefined,
    onRoom: () => waiting.splice(0).forEach((look) => look()),
    onFull: () => undefined,
    onFailure: (error) => failures.push(error),
  })
  const lane = new Lane({
    number: 1,
    intervalMs: Infinity,
    logs: { envelopes, data: envelopes },
    runner: born,
    trustedEnd: born,
    dataFloor: born,
    lastMarks: position(0),
    inheritedEnd: position(0),
    wanted: true,
  })
  const parts = { options: { clock: { wallMs: () => 1 } }, lanes: [lane] as Iterable<Lane> } as Parts
  const places = Array.from({ length: 30_000 }, (_, i) => position(segmentHeaderBytes + 8 * i))
  const recorded = await world.settle(
    (async () => {
      await disk.makeDirectory('lane')
      for (const place of places) lane.marks.add(place)
      while (!readyForCapture(parts)) await new Promise<void>((look) => waiting.push(look))
      await envelopes.sync()
      return readMarks(envelopes.files, lane.marks.lastRecord, born)
    })(),
  )
  expect(failures).toEqual([])
  expect(marksBytes(parts, lane)).toBeLessThan(segmentBytes / 2)
  expect([...recorded.toSorted((a, b) => a - b), ...lane.marks.takeFresh(Infinity)]).toEqual(places)
})

test('the marks of several lanes in the journal need room together', () => {
  const lanes = [1, 2].map((number) => {
    const lane = new Lane({
      number,
      intervalMs: 60_000,
      logs: undefined,
      runner: born,
      trustedEnd: born,
      dataFloor: born,
      lastMarks: position(0),
      inheritedEnd: position(0),
      wanted: true,
    })
    for (let i = 0; i < 10; i++) lane.marks.add(position(segmentHeaderBytes + 8 * i))
    return lane
  })
  let leftBytes = 0
  const journal = { grid: { segmentBytes }, room: (bytes: number) => (bytes <= leftBytes ? 'yes' : 'no') }
  const parts = { journal: journal as unknown as Journal, lanes: lanes as Iterable<Lane> } as Parts
  leftBytes = Math.max(...lanes.map((lane) => marksBytes(parts, lane)))
  expect(readyForCapture(parts)).toBe(false)
  leftBytes *= 2
  expect(readyForCapture(parts)).toBe(true)
})
