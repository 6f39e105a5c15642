/** A torture: one seed is a chain of lives on one disk, each with mail and trouble. Each life ends
 * by a kill or a power loss at any call, by a failed call, or idle. Then a quiet life brings
 * everything to its end.
 * Invariant: trouble of one life excuses no other: a life on a device that works opens, takes mail
 * and loses nothing, whatever earlier lives left on the disk. */
import { aftermath, oneLife, type AftermathOptions } from '../life/aftermath.js'
import { leanCopy } from '../disk/copy.js'
import { crashPoint, type CrashPoint } from '../life/crash-point.js'
import type { CrashState } from '../disk/crash-states.js'
import { DiskImage } from '../disk/disk-image.js'
import type { HuntResult } from './exhaustive.js'
import { endsLife } from './failing.js'
import { isOfOneLeft, mayComeBack } from '../model/left-behind.js'
import type { DiskModeName } from '../disk/disk-mode.js'
import { describeOperation } from '../disk/operation.js'
import type { QueueLife } from '../life/queue-life.js'
import { QueueModel } from '../model/queue-model.js'
import { noteCall, noteLife, Tally } from './tally.js'
import { tortureOf, type HardLife } from './torture-plan.js'
import { toItsEnd } from '../workload/workload.js'

export interface TortureOptions {
  readonly seed: number
  /** Only these pieces, by their numbers, after shrinking. */
  readonly only?: readonly number[]
  /** The kind of disk. Default: a file system. */
  readonly disk?: DiskModeName
}

export interface TortureResult extends HuntResult {
  /** How much of each ingredient there was. */
  readonly met: Tally
}

/** The input of a life. */
interface Start {
  readonly image: DiskImage
  readonly wallMs: number
  /** How the life before it ended. */
  readonly where: string
}

const bornMs = 1_800_000_000_000

export async function tortureRun({ seed, only, disk }: TortureOptions): Promise<TortureResult> {
  const drawn = tortureOf(seed, only)
  const lives =
    disk === undefined ? drawn : drawn.map((life) => ({ ...life, workload: { ...life.workload, disk } }))
  const met = new Tally()
  const result = { operationCount: 0, crashCount: 0, duplicateCount: 0, recoveredCount: 0, findings: [], met }
  let model = new QueueModel()
  let start: Start = { image: new DiskImage(), wallMs: bornMs, where: 'on an empty disk' }
  const mayBeLeft = new Set<string>()
  for (const [n, life] of lives.entries()) {
    const ended = await liveOnce(life, start, model, result)
    model = ended.model
    if (isBroken(result, model, mayBeLeft, seed, n + 1, start.where)) return result
    for (const name of mayComeBack(ended.image)) mayBeLeft.add(name)
    start = ended.start
  }
  // A second one has nothing to do.
  for (const again of [0, 1]) {
    const { workload } = lives.at(-1) ?? { workload: tortureOf(seed)[0]!.workload }
    const last = await aftermath({
      seed: seed + again,
      order: 'fifo',
      workload: { ...toItsEnd(workload), wallSteps: [], drops: [] },
      model,
      image: start.image,
      wallMs: start.wallMs + 1,
    })
    result.operationCount += last.disk.callCount
    result.recoveredCount += last.recoveredCount
    if (isBroken(result, model, mayBeLeft, seed, lives.length + 1 + again, start.where)) return result
    start = startAfter(last, undefined, 0)
  }
  result.duplicateCount = model.duplicateCount
  return result
}

/** A life to its end. @returns the input of the next one */
async function liveOnce(
  { workload, steps, orders, ...hard }: HardLife,
  { image, wallMs }: Start,
  model: QueueModel,
  result: TortureResult,
): Promise<{ readonly start: Start; readonly model: QueueModel; readonly image: DiskImage }> {
  const { met } = result
  let point: CrashPoint | undefined
  model.clockStepped(hard.clockByMs, wallMs, workload.lifetimeMs)
  const options: AftermathOptions = {
    ...hard,
    workload,
    model,
    image,
    wallMs: wallMs + 1 + hard.clockByMs,
    more: steps,
    orders,
    onOperation: (life, call) => {
      noteCall(met, call.operation)
      if (call.n !== hard.crashOp) return
      point = crashPoint(life, call, hard.power)
      life.world.stop()
    },
  }
  const life = await oneLife(options)
  result.crashCount++
  result.operationCount += life.disk.callCount
  result.recoveredCount += life.recoveredCount
  if (!life.world.stopped && life.ended === undefined)
    for (const { operation, fault } of life.trouble.failedCalls)
      if (endsLife(operation, fault.errno))
        model.violate(
          'O8',
          `${describeOperation(operation)} failed with ${fault.errno}, and the life went on`,
        )
  noteLife(met, life, hard)
  life.world.stop()
  const start = startAfter(life, hard, hard.choice, point)
  return { start, model: point?.model ?? model, image: life.disk.image }
}

/** @param choice which of the images that its end may leave */
function startAfter(
  life: QueueLife,
  hard: Pick<HardLife, 'power' | 'isCopied'> | undefined,
  choice: number,
  point?: CrashPoint,
): Start {
  const power = hard?.power
  const states =
    point?.states ?? (power === undefined ? life.disk.killStates() : life.disk.crashStates(power))
  let chosen: CrashState | undefined
  let n = 0
  for (const state of states) {
    chosen = state
    if (n++ === choice) break
  }
  const how =
    point === undefined
      ? life.ended === undefined
        ? 'at rest'
        : 'ended by itself'
      : `before ${point.operation}`
  const image = chosen?.image ?? life.disk.image
  const isCopied = hard?.isCopied === true
  return {
    image: isCopied ? leanCopy(image) : image,
    wallMs: point?.wallMs ?? life.world.clock.wallMs(),
    where: `after a life ${how}; ${chosen?.describe() ?? ''}${isCopied ? '; copied' : ''}`,
  }
}

function isBroken(
  { findings }: HuntResult,
  { violations }: QueueModel,
  mayBeLeft: ReadonlySet<string>,
  seed: number,
  life: number,
  where: string,
): boolean {
  for (const violation of violations)
    if (!isOfOneLeft(violation, mayBeLeft))
      findings.push({ ...violation, seed, op: life, secondOp: undefined, where })
  return findings.length > 0
}
