/** Restart positions.
 * Invariant: they may lag behind the truth and never go back: segments were recycled, and messages
 * started, because of the newest one. */
import { position, type Position } from '../base/position.js'
import { WaybillError } from '../errors.js'
import { encodeFields, FieldReader, type Field } from './msgpack.js'

export interface LanePositions {
  /** Given once in a queue's life. 0 is `incoming`, 1 is `hold`. */
  readonly lane: number
  /** The retry interval in milliseconds; 0 for `incoming` and `hold`, whose numbers say
   * what they are. */
  readonly intervalMs: number
  /** Stands in the journal and has no separate logs. */
  readonly inJournal: boolean
  /** Behind the last envelope in order whose start was appended. */
  readonly runner: Position
  /** End of the trusted bytes in the log of envelopes and in the log of data. */
  readonly envelopesEnd: Position
  readonly dataEnd: Position
  /** The first data that an envelope behind the runner's position can have. */
  readonly dataFloor: Position
  /** The last `marks` record, `nowhere` when there is none. */
  readonly marks: Position
}

/** A log beside the journal: of idempotency keys, or of outcomes. */
export interface SideLogPositions {
  /** The first record that is still needed. */
  readonly floor: Position
  /** End of the trusted bytes. */
  readonly end: Position
  /** The first frame of the journal of which the log may lack something. */
  readonly from: Position
}

/** The log of outcomes, and its consumers. */
export interface OutcomePositions extends SideLogPositions {
  /** How many outcomes of the journal from `from` on are in the log. */
  readonly skip: number
  /** Of the last outcome in the log. */
  readonly number: number
  readonly consumers: readonly { readonly name: string; readonly cursor: number }[]
}

/** Deliveries that an operator has suspended. */
export interface SuspensionRecord {
  /** '' : every transport, or every nexthop. One of them is not empty. */
  readonly transport: string
  readonly nexthop: string
  /** Milliseconds since 1970; `untilAt` 0: until it is resumed. */
  readonly sinceAt: number
  readonly untilAt: number
}

export interface Checkpoint {
  /** The life that wrote it; the first is 1. */
  readonly life: number
  /** Start of the working suffix. */
  readonly suffix: Position
  readonly lanes: readonly LanePositions[]
  /** The number that the next new lane gets. */
  readonly laneNext: number
  /** The highest number given to a spool file, and those up to it whose envelope was not appended
   * yet. One above it is claimed: all up to there may be given by this life. */
  readonly spoolHighest: number
  readonly spoolPending: readonly number[]
  /** Absent: no submission has had a key. */
  readonly keys?: SideLogPositions | undefined
  /** Absent: outcomes have no consumer. */
  readonly outcomes?: OutcomePositions | undefined
  /** Absent: nothing is suspended. */
  readonly suspensions?: readonly SuspensionRecord[] | undefined
}

/** End of the trusted envelopes of a lane with separate logs; undefined for a lane that the
 * checkpoint does not know. */
export const trustedEndIn = ({ lanes }: Checkpoint, lane: number): Position | undefined =>
  lanes.find((positions) => positions.lane === lane && !positions.inJournal)?.envelopesEnd

export function encodeCheckpoint(checkpoint: Checkpoint): Buffer {
  const { keys, outcomes, suspensions } = checkpoint
  const count = suspensions !== undefined ? 3 : outcomes !== undefined ? 2 : keys !== undefined ? 1 : 0
  const last: readonly Field[] = [
    fieldsOfKeys(keys),
    outcomes === undefined ? [] : fieldsOfOutcomes(outcomes),
    (suspensions ?? []).map(fieldsOfSuspension),
  ]
  return encodeFields([
    checkpoint.life,
    checkpoint.suffix,
    checkpoint.lanes.map((lane) => [
      lane.lane,
      lane.intervalMs,
      lane.inJournal ? 1 : 0,
      lane.runner,
      lane.envelopesEnd,
      lane.dataEnd,
      lane.dataFloor,
      lane.marks,
    ]),
    checkpoint.laneNext,
    checkpoint.spoolHighest,
    checkpoint.spoolPending,
    ...last.slice(0, count),
  ])
}

/** @throws WaybillError LOG_CORRUPT */
export function decodeCheckpoint(payload: Buffer): Checkpoint {
  const fields = new FieldReader(payload, 'checkpoint', 6)
  const checkpoint = {
    life: fields.count(),
    suffix: position(fields.count()),
    lanes: fields.list().map(decodeLane),
    laneNext: fields.count(),
    spoolHighest: fields.count(),
    spoolPending: fields.counts(),
  }
  if (fields.isAtEnd) return checkpoint
  const keys = decodeKeys(fields.list())
  if (fields.isAtEnd) return { ...checkpoint, keys }
  const outcomes = decodeOutcomes(fields.list())
  if (fields.isAtEnd) return { ...checkpoint, keys, outcomes }
  const suspensions = fields.list().map(decodeSuspension)
  return { ...checkpoint, keys, outcomes, suspensions: suspensions.length === 0 ? undefined : suspensions }
}

const fieldsOfKeys = (keys: SideLogPositions | undefined): readonly number[] =>
  keys === undefined ? [] : [keys.floor, keys.end, keys.from]

const fieldsOfOutcomes = ({ floor, end, from, skip, number, consumers }: OutcomePositions): Field => [
  floor,
  end,
  from,
  skip,
  number,
  consumers.map(({ name, cursor }) => [name, cursor]),
]

const fieldsOfSuspension = ({ transport, nexthop, sinceAt, untilAt }: SuspensionRecord): Field => [
  transport,
  nexthop,
  sinceAt,
  untilAt,
]

function decodeSuspension(list: unknown): SuspensionRecord {
  if (!Array.isArray(list))
    throw new WaybillError('LOG_CORRUPT', 'a suspension of a checkpoint record is not a list')
  const fields = new FieldReader(list as unknown[], 'suspension of a checkpoint', 4)
  return {
    transport: fields.text(),
    nexthop: fields.text(),
    sinceAt: fields.count(),
    untilAt: fields.count(),
  }
}

function decodeKeys(list: readonly unknown[]): SideLogPositions | undefined {
  return list.length === 0 ? undefined : sideLogOf(new FieldReader(list, 'keys of a checkpoint', 3))
}

function decodeOutcomes(list: readonly unknown[]): OutcomePositions | undefined {
  if (list.length === 0) return undefined
  const fields = new FieldReader(list, 'outcomes of a checkpoint', 6)
  return {
    ...sideLogOf(fields),
    skip: fields.count(),
    number: fields.count(),
    consumers: fields.list().map((consumer) => {
      if (!Array.isArray(consumer))
        throw new WaybillError('LOG_CORRUPT', 'a consumer of a checkpoint record is not a list')
      const named = new FieldReader(consumer as unknown[], 'consumer of a checkpoint', 2)
      return { name: named.text(), cursor: named.count() }
    }),
  }
}

const sideLogOf = (fields: FieldReader): SideLogPositions => ({
  floor: position(fields.count()),
  end: position(fields.count()),
  from: position(fields.count()),
})

function decodeLane(list: unknown): LanePositions {
  if (!Array.isArray(list))
    throw new WaybillError('LOG_CORRUPT', 'a lane of a checkpoint record is not a list')
  const fields = new FieldReader(list as unknown[], 'lane of a checkpoint', 8)
  return {
    lane: fields.count(),
    intervalMs: fields.count(),
    inJournal: fields.count() === 1,
    runner: position(fields.count()),
    envelopesEnd: position(fields.count()),
    dataEnd: position(fields.count()),
    dataFloor: position(fields.count()),
    marks: position(fields.count()),
  }
}
