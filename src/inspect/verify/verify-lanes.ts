/** Checks the trusted part of the lanes' logs: directories, files and every frame. */
import type { Position } from '../../base/position.js'
import type { SegmentFiles } from '../../log/segment-files.js'
import { segmentHeaderBytes } from '../../log/segment.js'
import { sideLogNames } from '../../directory/paths.js'
import { isSame, type Finding, type Report } from '../damage/finding.js'
import { walkLog, type LogRange } from '../records/log-reader.js'
import { type LogName, type QueueDirectory } from '../queue/queue-directory.js'
import { indexesOf, segmentTrouble } from '../damage/segment-trouble.js'
import { takeSnapshot, type LaneView, type Snapshot } from '../queue/snapshot.js'

const lostWithFile = 'mail of the lane, and the queue does not open'

/** Reports what two looks in a row see. */
async function confirmed(
  directory: QueueDirectory,
  report: Report,
  look: (directory: QueueDirectory, snapshot: Snapshot) => Promise<Finding[]>,
): Promise<void> {
  const first = await look(directory, await takeSnapshot(directory))
  if (first.length === 0) return
  const second = await look(directory, await takeSnapshot(directory))
  for (const finding of second) if (first.some((other) => isSame(finding, other))) report(finding)
}

/** Problems of lanes that a start would refuse. */
async function laneTroubles(directory: QueueDirectory, { lanes }: Snapshot): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const lane of lanes) {
    if (lane.inJournal) continue
    for (const [name, floor, end] of logsOf(lane)) {
      const files = directory.log(name)
      for (const index of indexesOf(files, openedFrom(files, floor, end), end)) {
        const finding = await segmentTrouble(files, index, end, lostWithFile)
        if (finding !== undefined) findings.push(finding)
      }
    }
  }
  return findings
}

/** A start opens the last segment of a log even if nothing waits in it. */
function openedFrom({ grid }: SegmentFiles, floor: Position, end: Position): Position {
  const lastBase = grid.at(grid.indexOf(end), 0)
  return grid.offsetOf(end) > segmentHeaderBytes && lastBase < floor ? lastBase : floor
}

/** The needed and trusted range of each of its logs. */
const logsOf = ({
  lane,
  checkpointRunner,
  end,
  dataFloor,
  dataEnd,
}: LaneView): [LogName, Position, Position][] => [
  [`${lane}/envelopes`, checkpointRunner, end],
  [`${lane}/data`, dataFloor, dataEnd],
]

/** Every frame of the lanes' logs without a waiting message: data of ended messages, envelopes
 * started since the checkpoint, padding. */
export async function verifyLanes(
  directory: QueueDirectory,
  snapshot: Snapshot,
  report: Report,
): Promise<void> {
  await confirmed(directory, report, laneTroubles)
  for (const name of sideLogNames) {
    const positions = snapshot.journal.checkpoint?.[name]
    if (positions !== undefined)
      await walkLog(directory, snapshot, { name, from: positions.floor }, report, () => undefined)
  }
  for (const { lane, inJournal, checkpointRunner, runner, dataFloor } of snapshot.lanes) {
    if (inJournal) continue
    const ranges: LogRange[] = [
      { name: `${lane}/envelopes`, from: checkpointRunner, to: runner },
      { name: `${lane}/data`, from: dataFloor },
    ]
    for (const range of ranges) await walkLog(directory, snapshot, range, report, () => undefined)
  }
}
