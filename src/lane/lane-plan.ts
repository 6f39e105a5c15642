/** Which lanes a life has: those of the checkpoint, and one for each interval of the policy that has none yet. A number is given
 * once. A lane that no policy names any more is drained. */
import { WaybillError } from '../errors.js'
import type { LanePositions } from '../record/checkpoint.js'
import { firstRetryLane, holdLane, incomingLane } from './lane.js'
import { segmentHeaderBytes } from '../log/segment.js'
import { nowhere, position } from '../base/position.js'

/** Lanes of a policy, `incoming` and `hold` not counted. */
export const laneCountMax = 32
/** The highest number that a frame's class can say. */
const laneNumberMax = 0x7fff

/** `lanes`: each lane has logs of its own. `single`: all but `hold` stand in the journal. */
export type Layout = 'lanes' | 'single'

export interface LanePlan {
  readonly lanes: readonly LanePositions[]
  readonly laneNext: number
}

const born = position(segmentHeaderBytes)

function newLane(lane: number, intervalMs: number, inJournal: boolean, journalEnd: number): LanePositions {
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

/** @param known the lanes of the newest checkpoint, @param journalEnd where a new lane in the journal begins; `incoming` begins with the journal
 * @throws WaybillError LANES_TOO_MANY */
export function planLanes(
  known: readonly LanePositions[],
  laneNext: number,
  intervalsMs: readonly number[],
  layout: Layout,
  journalEnd: number,
): LanePlan {
  if (intervalsMs.length > laneCountMax)
    throw new WaybillError(
      'LANES_TOO_MANY',
      `a policy has ${intervalsMs.length} intervals, at most ${laneCountMax} are possible`,
    )
  const lanes = [...known]
  if (known.length === 0) {
    // No checkpoint was ever durable, but mail may be: a life can end between its first batch and its first checkpoint.
    lanes.push(newLane(incomingLane, 0, true, born), newLane(holdLane, 0, false, journalEnd))
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
    if (laneNext > laneNumberMax)
      throw new WaybillError(
        'LANES_TOO_MANY',
        'the queue has given all its lane numbers; start a new queue directory',
      )
    lanes.push(newLane(laneNext++, intervalMs, inJournal, journalEnd))
  }
  return { lanes, laneNext }
}

/** The member of `intervalsMs` that is nearest to a delay. */
export function nearestInterval(intervalsMs: readonly number[], delayMs: number): number {
  let nearest = intervalsMs[0]!
  for (const interval of intervalsMs)
    if (Math.abs(interval - delayMs) < Math.abs(nearest - delayMs)) nearest = interval
  return nearest
}
