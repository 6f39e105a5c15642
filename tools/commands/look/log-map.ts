/** `waybill log map FILE.svg`: draws the segments. */
import { writeFile } from 'node:fs/promises'
import { logStatistics, type LogStatistics } from '../../../src/inspect/figures/log-statistics.js'
import { segmentMap, type MapMark, type MapRow } from '../../../src/inspect/figures/segment-map.js'
import { takeSnapshot, type Snapshot } from '../../../src/inspect/queue/snapshot.js'
import { oneOperand } from '../cli/command.js'
import { shownQueue } from '../cli/shown-queue.js'
import { complainOf, exits, inspectCommand, type InspectCommand, type Inspected } from './inspection.js'
import { bytesText, durationText } from '../text/shown-text.js'

export const logMap: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR] FILE.svg',
    operands: true,
    options: {},
    notes:
      'Boxes are as wide as their files are long. A segment is live as a whole, and passed as far as nothing in it is needed any more.\n' +
      '`-` writes to standard output. A browser shows more of a box under the pointer.',
  },
  (args) => oneOperand(args, 'FILE: where to draw'),
  draw,
)

async function draw(inspected: Inspected, file: string): Promise<number> {
  const { directory, out, report, path } = inspected
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const logs = await logStatistics(directory, snapshot, report)
  const { segmentBytes, laneSegmentBytes } = directory.header
  const rows = logs.map((log): MapRow => ({
    log,
    title: titleOf(log, snapshot),
    segmentBytes: log.name === 'journal' ? segmentBytes : laneSegmentBytes,
    marks: marksOf(log, snapshot),
  }))
  const suffix = bytesText(snapshot.end - snapshot.suffix)
  const svg = segmentMap(
    rows,
    `${shownQueue(path)}: ${snapshot.working.length} active, working suffix ${suffix}`,
    bytesText,
  )
  if (file === '-') out.text(svg)
  else await writeFile(file, svg)
  await out.flush()
  complainOf(inspected)
  return exits.fine
}

function titleOf({ name, liveBytes }: LogStatistics, { lanes }: Snapshot): string {
  const lane = lanes.find(({ lane: number }) => name.startsWith(`${number}/`))
  if (name === 'journal') return `${bytesText(liveBytes)} live`
  if (lane === undefined) return 'in no checkpoint'
  return `${lane.kind === 'retry' ? durationText(lane.intervalMs) : lane.kind}, ${bytesText(liveBytes)} live`
}

function marksOf({ name, end }: LogStatistics, { suffix, lanes }: Snapshot): MapMark[] {
  const marks: MapMark[] = [{ name: 'end', position: end }]
  if (name === 'journal') {
    marks.push({ name: 'suffix', position: suffix })
    for (const { inJournal, runner } of lanes) if (inJournal) marks.push({ name: 'runner', position: runner })
    return marks
  }
  for (const { lane, runner, dataFloor } of lanes) {
    if (name === `${lane}/envelopes`) marks.push({ name: 'runner', position: runner })
    if (name === `${lane}/data`) marks.push({ name: 'floor', position: dataFloor })
  }
  return marks
}
