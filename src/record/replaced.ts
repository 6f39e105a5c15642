/** A replacement was appended to a lane that has separate logs.
 * Recovery trusts it only if the target lies before the lane's checkpointed end; its reports count
 * in any case. The frame's class is the lane, its time that of the replacement. */
import { position, type Position } from '../base/position.js'
import { encodeFields, FieldReader } from './msgpack.js'

export interface Replaced {
  readonly start: Position
  /** The replacement's place in the lane's log of envelopes, and the first byte behind it. */
  readonly target: Position
  readonly targetEnd: Position
  /** Recipients in the report of the same group, as ranges. */
  readonly reported: readonly number[]
  /** Delay warnings that the sender had, the one in the same group included. */
  readonly warnings: number
}

export const encodeReplaced = (replaced: Replaced): Buffer =>
  encodeFields([replaced.start, replaced.target, replaced.targetEnd, replaced.reported, replaced.warnings])

/** @throws WaybillError LOG_CORRUPT */
export function decodeReplaced(payload: Buffer): Replaced {
  const fields = new FieldReader(payload, 'replaced', 5)
  return {
    start: position(fields.count()),
    target: position(fields.count()),
    targetEnd: position(fields.count()),
    reported: fields.counts(),
    warnings: fields.count(),
  }
}
