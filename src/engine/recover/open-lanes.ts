/** The lanes of this life: their logs cut at the checkpointed ends, those of new intervals made. */
import { assert } from '../../base/assert.js'
import type { Position } from '../../base/position.js'
import type { Garbage } from '../../garbage/pins.js'
import { holdLane, incomingLane, Lane, type LaneLogs } from '../../lane/lane.js'
import { planLanes } from '../../lane/lane-plan.js'
import { Lanes } from '../../lane/lanes.js'
import { LaneLog } from '../../log/lane-log.js'
import type { Checkpoint, LanePositions } from '../../record/checkpoint.js'
import { laneFiles, type LanePart } from '../../directory/log-files.js'
import type { QueueHeader } from '../../directory/header.js'
import type { Completion } from '../../directory/incomplete.js'
import { arrangeLaneDirectories, type LaneDirectories } from '../../directory/lane-directories.js'
import type { EngineOptions } from '../life/options.js'

export interface LaneCallbacks {
  readonly onRoom: () => void
  readonly onFull: () => void
  readonly onFailure: (error: unknown) => void
}

/** What it takes to open a lane's logs. */
export interface LaneOpener {
  readonly options: EngineOptions
  readonly header: QueueHeader
  /** The number of this life. */
  readonly life: number
  readonly garbage: Garbage
  readonly callbacks: LaneCallbacks
}

/** @param tailEnd where the journal ended, @param firstPosition where it goes on
 * @throws WaybillError LANES_TOO_MANY, LOG_CORRUPT, DISK_FAILED */
export async function openLanes(
  opener: LaneOpener,
  completion: Completion,
  checkpoint: Checkpoint,
  tailEnd: Position,
  firstPosition: Position,
  directories: LaneDirectories,
): Promise<Lanes> {
  const { options, header } = opener
  // A life that delivers nothing asks no policy: it leaves the lanes as they are.
  const intervalsMs = options.deliver ? options.retry.intervalsMs : []
  const plan = planLanes(checkpoint.lanes, checkpoint.laneNext, intervalsMs, options.layout, {
    journalEnd: firstPosition,
    laneSegmentBytes: header.laneSegmentBytes,
    present: new Set(directories.names.map(Number)),
  })
  const numbersOf = (positions: readonly LanePositions[]): number[] =>
    positions.filter((lane) => !lane.inJournal).map((lane) => lane.lane)
  const known = numbersOf(checkpoint.lanes)
  const added = numbersOf(plan.lanes).filter((lane) => !known.includes(lane))
  await arrangeLaneDirectories(options.disk, known, added, directories, completion)
  // Side by side: what earlier lives made ahead is unlinked, which takes a millisecond a lane.
  const open = async (positions: LanePositions): Promise<Lane> => {
    const { lane: number, inJournal } = positions
    const logs = inJournal ? undefined : await openLogs(opener, positions)
    const isRetry = number !== incomingLane && number !== holdLane
    // What its log holds for it is read, not handed over, up to the end of the life before.
    const end = inJournal ? tailEnd : positions.envelopesEnd
    const lane = new Lane({
      number,
      intervalMs: number === holdLane ? Infinity : positions.intervalMs,
      logs,
      runner: positions.runner,
      trustedEnd: positions.envelopesEnd,
      dataFloor: positions.dataFloor,
      lastMarks: positions.marks,
      inheritedEnd: end,
      wanted:
        !isRetry ||
        !options.deliver ||
        (intervalsMs.includes(positions.intervalMs) && inJournal === (options.layout === 'single')),
    })
    if (end > positions.runner) lane.runner.missed(end)
    return lane
  }
  return new Lanes(await Promise.all(plan.lanes.map(open)), plan.laneNext)
}

/** A lane that this life adds, whose directory was made. */
export async function openNewLane(opener: LaneOpener, positions: LanePositions): Promise<Lane> {
  return new Lane({
    number: positions.lane,
    intervalMs: positions.intervalMs,
    logs: await openLogs(opener, positions),
    runner: positions.runner,
    trustedEnd: positions.envelopesEnd,
    dataFloor: positions.dataFloor,
    lastMarks: positions.marks,
    inheritedEnd: positions.envelopesEnd,
    wanted: true,
  })
}

async function openLogs(
  { options, header, life, garbage, callbacks }: LaneOpener,
  positions: LanePositions,
): Promise<LaneLogs> {
  const { lane, envelopesEnd, dataEnd } = positions
  assert(!positions.inJournal, 'a lane in the journal has no logs')
  const { disk, prng } = options
  const open = async (part: LanePart, end: Position): Promise<LaneLog> => {
    const place = laneFiles(disk, header, lane, part)
    const pins = garbage.of(place.log)
    const opened = new LaneLog({
      ...place,
      disk,
      life,
      prng,
      end,
      onSegment: (index) => pins.add(index),
      ...callbacks,
    })
    await opened.recover()
    return opened
  }
  const [envelopes, data] = await Promise.all([open('envelopes', envelopesEnd), open('data', dataEnd)])
  return { envelopes, data }
}
