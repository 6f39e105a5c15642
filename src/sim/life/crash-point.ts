/** A moment at which the machine may stop: possible disks, and promises made by then. */
import { below, type Prng } from '../../base/prng.js'
import type { CrashOptions, CrashState } from '../disk/crash-states.js'
import type { NumberedOperation } from '../disk/sim-disk.js'
import { describeOperation } from '../disk/operation.js'
import type { QueueLife } from './queue-life.js'
import type { QueueModel } from '../model/queue-model.js'

export interface CrashPoint {
  readonly n: number
  readonly operation: string
  readonly states: Iterable<CrashState>
  readonly model: QueueModel
  readonly wallMs: number
}

/** @param power the power loss; undefined: the process is killed */
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

/** A few sets of losses of a power failure in a random run; some crashes kill the process
 * instead. */
export function drawnPower(prng: Prng, killOneIn: number): CrashOptions | undefined {
  if (below(prng, killOneIn) === 0) return undefined
  return {
    seed: prng.uint32(),
    sectorBytes: below(prng, 2) === 0 ? 512 : 4096,
    namesInOrder: below(prng, 2) === 0,
    exhaustiveUnitsMax: 3,
    randomStates: 6,
    statesMax: 12,
  }
}
