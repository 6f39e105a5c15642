/** A moment at which the machine may stop: what the disk could then hold, and what had been promised by then. */
import type { CrashOptions, CrashState } from './crash-states.js'
import type { NumberedOperation } from './sim-disk.js'
import { describeOperation } from './operation.js'
import type { QueueLife } from './queue-life.js'
import type { QueueModel } from './queue-model.js'

export interface CrashPoint {
  readonly n: number
  readonly operation: string
  readonly states: Iterable<CrashState>
  readonly model: QueueModel
  readonly wallMs: number
}

/** @param power what is lost with the power; undefined: the process is killed */
export function crashPoint(
  life: QueueLife,
  { n, operation }: NumberedOperation,
  power: CrashOptions | undefined,
): CrashPoint {
  life.model.crashed(life.world.nowMs)
  return {
    n,
    operation: describeOperation(operation),
    states: power === undefined ? life.disk.killStates() : life.disk.crashStates(power),
    model: life.model.copy(),
    wallMs: life.world.clock.wallMs(),
  }
}
