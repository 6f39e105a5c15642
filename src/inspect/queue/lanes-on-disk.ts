/** The lanes of a queue without any checkpoint, from their files alone.
 * All messages in their logs may wait and are shown as uncertain, except those with a start
 * in the journal. */
import { nowhere, position, type Position } from '../../base/position.js'
import { holdLane } from '../../lane/lane.js'
import { segmentName } from '../../log/segment.js'
import { directoryOf, type LogName, type QueueDirectory } from './queue-directory.js'
import type { LaneView } from './snapshot.js'
import { readSurviving } from '../damage/surviving-frames.js'

/** @param started envelopes by lane, with a known start */
export async function lanesOnDisk(
  directory: QueueDirectory,
  started: ReadonlyMap<number, ReadonlySet<Position>>,
): Promise<LaneView[]> {
  const lanes: LaneView[] = []
  for (const { name } of await directory.logs()) {
    const lane = Number(/^([0-9]+)\/envelopes$/.exec(name)?.[1] ?? 0)
    if (lane === 0) continue
    const [runner, end] = await contentOf(directory, name)
    if (end === nowhere) continue
    const [dataFloor, dataEnd] = await contentOf(directory, `${lane}/data`)
    lanes.push({
      lane,
      kind: lane === holdLane ? 'hold' : 'retry',
      intervalMs: lane === holdLane ? Infinity : 0,
      inJournal: false,
      isGuessed: true,
      log: name,
      runner,
      end,
      dataFloor,
      dataEnd,
      marks: started.get(lane) ?? new Set(),
      checkpointRunner: runner,
      marksRecord: nowhere,
    })
  }
  return lanes
}

/** From its oldest segment to the end of the last valid frame; behind it are zeroes,
 * room made ahead. */
async function contentOf(directory: QueueDirectory, name: LogName): Promise<[from: Position, end: Position]> {
  const files = directory.log(name)
  const { grid } = files
  const indexes = await directory.segments(directoryOf(name))
  const [first] = indexes
  if (first === undefined) return [nowhere, nowhere]
  let end = grid.firstOf(first)
  for (const index of [...indexes].reverse()) {
    const path = `${directoryOf(name)}/${segmentName(index)}`
    const size = Math.min((await directory.size(path)) ?? 0, grid.segmentBytes)
    const segmentEnd = position(grid.at(index, 0) + size)
    await readSurviving(files, {
      from: grid.firstOf(index),
      end: segmentEnd,
      endOf: async () => segmentEnd,
      onGap: ({ to }) => to,
      visit: (_window, _at, place, bytes) => {
        end = position(Math.max(end, place + bytes))
      },
    })
    await files.forget(index)
    if (end > grid.firstOf(index)) break
  }
  return [grid.firstOf(first), end]
}
