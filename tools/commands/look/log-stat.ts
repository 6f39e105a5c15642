/** `waybill log stat`: shows segments, live and garbage bytes, records by kind, restart positions
 * and the suffix. */
import {
  countRecords,
  logStatistics,
  type LogStatistics,
} from '../../../src/inspect/figures/log-statistics.js'
import { takeSnapshot, type Snapshot } from '../../../src/inspect/queue/snapshot.js'
import { queueNameOf } from '../../../src/lane/lane.js'
import {
  complainOf,
  exits,
  inspectCommand,
  jsonOption,
  unchecked,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { bytesText, table, type Cell } from '../text/shown-text.js'

export const logStat: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR] [--json] [--quick]',
    options: { ...jsonOption, quick: { help: 'without the records by kind, for which everything is read' } },
  },
  unchecked,
  show,
)

async function show(inspected: Inspected): Promise<number> {
  const { directory, args, out, report, progress } = inspected
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const logs = await logStatistics(directory, snapshot, report)
  const counts = new Map<string, Awaited<ReturnType<typeof countRecords>>>()
  const all = logs.reduce((bytes, { fileBytes }) => bytes + fileBytes, 0)
  let read = 0
  if (!args.isSet('quick'))
    for (const { name } of logs)
      counts.set(
        name,
        await countRecords(directory, snapshot, name, report, (bytes) => progress.show((read += bytes), all)),
      )
  progress.end()
  if (args.isSet('json')) {
    for (const log of logs)
      out.json({ ...jsonOf(log), ...(counts.has(log.name) ? { records: counts.get(log.name) } : undefined) })
    out.json(restartJson(snapshot))
  } else {
    out.line(
      table(['log', 'segments', 'on disk', 'live', 'pinned', 'garbage', 'floor', 'end'], logs.map(rowOf)),
    )
    for (const { name } of logs) {
      const entries = Object.entries(counts.get(name) ?? {})
      if (entries.length === 0) continue
      out.line(`\n${name}`)
      out.line(
        table(
          ['  kind', 'records', 'bytes'],
          entries.map(([kind, { count, bytes }]): Cell[] => [`  ${kind}`, count, bytes]),
        ),
      )
    }
    out.line(
      `\nrestart: suffix from ${snapshot.suffix} to ${snapshot.end}, ${bytesText(snapshot.end - snapshot.suffix)}, ${snapshot.working.length} active`,
    )
    out.line(
      table(
        ['  lane', 'queue', 'runner', 'end', 'marks'],
        snapshot.lanes.map(({ lane, kind, runner, end, marks }): Cell[] => [
          `  ${lane}`,
          queueNameOf(kind),
          runner,
          end,
          marks.size,
        ]),
      ),
    )
  }
  await out.flush()
  complainOf(inspected)
  return exits.fine
}

const rowOf = (log: LogStatistics): Cell[] => [
  log.name,
  `${log.segments.length}${log.spareCount > 0 ? ` + ${log.spareCount} spare` : ''}`,
  bytesText(log.fileBytes + log.spareBytes),
  bytesText(log.liveBytes),
  bytesText(log.pinnedBytes),
  bytesText(log.garbageBytes),
  log.floor,
  log.end,
]

const jsonOf = (log: LogStatistics): Record<string, unknown> => ({
  log: log.name,
  segments: log.segments.length,
  spares: log.spareCount,
  file_bytes: log.fileBytes,
  live_bytes: log.liveBytes,
  pinned_bytes: log.pinnedBytes,
  garbage_bytes: log.garbageBytes,
  floor: log.floor,
  end: log.end,
})

const restartJson = ({ suffix, end, working, lanes, checkpoint }: Snapshot): Record<string, unknown> => ({
  life: checkpoint?.life ?? 1,
  suffix,
  end,
  suffix_bytes: end - suffix,
  active: working.length,
  lanes: lanes.map(({ lane, kind, runner, end: laneEnd, marks }) => ({
    lane,
    kind,
    runner,
    end: laneEnd,
    marks: marks.size,
  })),
})
