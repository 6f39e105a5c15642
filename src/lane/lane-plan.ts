/** Decides which lanes a life has: those of the checkpoint, and one for each new interval of the
 * policy.
 * Invariant: no two lanes of a queue ever share both number and position, so a record of a removed
 * lane never names a message of a later one. Numbers are given in turn. A lane with a reused
 * number begins at positions that no lane of that number had. A lane that the policy no longer
 * names takes no new mail. */
import { WaybillError } from '../errors.js'
import type { LanePositions } from '../record/checkpoint.js'
import { firstRetryLane, holdLane, incomingLane } from './lane.js'
import { segmentHeaderBytes } from '../log/segment.js'
import { nowhere, position } from '../base/position.js'

/** Lanes of a policy, `incoming` and `hold` not counted. */
export const laneCountMax = 32
/** The highest number that fits a frame's class. */
const laneNumberMax = 0x7fff
/** Segments that a lane's log can have before its positions reach those of the next lane with its
 * number: 16 TiB by default. */
const turnSegments = 2 ** 20

/** `lanes`: each lane has separate logs. `single`: all but `hold` stand in the journal. */
export type Layout = 'lanes' | 'single'

export interface LanePlan {
  readonly lanes: readonly LanePositions[]
  /** Numbers given so far, `incoming` and `hold` included; beyond `laneNumberMax` they are
   * reused. */
  readonly laneNext: number
}

export interface LanePlace {
  /** Where a new lane in the journal begins; `incoming` begins with the journal. */
  readonly journalEnd: number
  /** Of the logs of lanes. */
  readonly laneSegmentBytes: number
  /** Lanes that have a directory: its files must not be taken for those of a new lane. */
  readonly present: ReadonlySet<number>
}

function newLane(
  lane: number,
  turn: number,
  intervalMs: number,
  inJournal: boolean,
  { journalEnd, laneSegmentBytes }: LanePlace,
): LanePositions {
  const born = position(turn * turnSegments * laneSegmentBytes + segmentHeaderBytes)
  const runner = inJournal ? position(journalEnd) : born
  return {
    lane,
    intervalMs,
    inJournal,
    runner,
    envelopesEnd: born,
    dataEnd: born,
    dataFloor: born,
    marks: nowhere,
  }
}

/** @param known the lanes of the newest checkpoint, @param laneNext its
 * @throws WaybillError LANES_TOO_MANY */
export function planLanes(
  known: readonly LanePositions[],
  laneNext: number,
  intervalsMs: readonly number[],
  layout: Layout,
  place: LanePlace,
): LanePlan {
  if (intervalsMs.length > laneCountMax)
    throw new WaybillError(
      'LANES_TOO_MANY',
      `a policy has ${intervalsMs.length} intervals, at most ${laneCountMax} are possible`,
    )
  const lanes = [...known]
  if (known.length === 0) {
    // A life can end between its first batch and its first checkpoint, so there may be mail without
    // a checkpoint.
    lanes.push(
      newLane(incomingLane, 0, 0, true, { ...place, journalEnd: segmentHeaderBytes }),
      newLane(holdLane, 0, 0, false, place),
    )
    laneNext = firstRetryLane
  }
  for (const intervalMs of intervalsMs) {
    const inJournal = layout === 'single'
    if (
      lanes.some(
        (lane) =>
          lane.lane >= firstRetryLane && lane.intervalMs === intervalMs && lane.inJournal === inJournal,
      )
    )
      continue
    laneNext = freeFrom(laneNext, lanes, place)
    lanes.push(newLane(numberOf(laneNext), turnOf(laneNext), intervalMs, inJournal, place))
    laneNext++
  }
  return { lanes, laneNext }
}

/** A lane with separate logs that a life adds to those that it has. */
export function planLane(
  lanes: readonly { readonly number: number }[],
  laneNext: number,
  intervalMs: number,
  place: Omit<LanePlace, 'journalEnd'>,
): { readonly positions: LanePositions; readonly laneNext: number } {
  const taken = { ...place, present: new Set([...place.present, ...lanes.map(({ number }) => number)]) }
  const count = freeFrom(laneNext, [], taken)
  const positions = newLane(numberOf(count), turnOf(count), intervalMs, false, { ...place, journalEnd: 0 })
  return { positions, laneNext: count + 1 }
}

/** Numbers before the first reuse. */
const turnNumbers = laneNumberMax + 1 - firstRetryLane

const turnOf = (count: number): number => Math.floor((count - firstRetryLane) / turnNumbers)

const numberOf = (count: number): number => firstRetryLane + ((count - firstRetryLane) % turnNumbers)

/** @throws WaybillError LANES_TOO_MANY */
function freeFrom(
  laneNext: number,
  lanes: readonly LanePositions[],
  place: Pick<LanePlace, 'present'>,
): number {
  for (let count = laneNext; count < laneNext + turnNumbers; count++)
    if (!isTaken(numberOf(count), lanes, place)) return count
  throw new WaybillError('LANES_TOO_MANY', 'mail waits in as many lanes as there are numbers')
}

const isTaken = (
  number: number,
  lanes: readonly LanePositions[],
  { present }: Pick<LanePlace, 'present'>,
): boolean => present.has(number) || lanes.some(({ lane }) => lane === number)

/** The member of `intervalsMs` that is nearest to a delay. */
export function nearestInterval(intervalsMs: readonly number[], delayMs: number): number {
  let nearest = intervalsMs[0]!
  for (const interval of intervalsMs)
    if (Math.abs(interval - delayMs) < Math.abs(nearest - delayMs)) nearest = interval
  return nearest
}
