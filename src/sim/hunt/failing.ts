/** Every call of a workload fails once: settled mail survives, and failures are reported.
 * After the failure the process starts again in the same boot, on a kernel that calls lost pages
 * clean; at some operations of that life the power fails. Or each call of that start fails, too,
 * and a third start follows, in the same boot or after a power loss. Equal states are tried
 * once. */
import { aftermath, oneLife, runToEnd } from '../life/aftermath.js'
import { copyImage } from '../disk/copy.js'
import { crashPoint, type CrashPoint } from '../life/crash-point.js'
import type { DiskImage } from '../disk/disk-image.js'
import type { EventOrder } from '../world/event-queue.js'
import type { Finding, HuntResult } from './exhaustive.js'
import type { Fault } from '../disk/faults.js'
import { isOfOneLeft, mayComeBack } from '../model/left-behind.js'
import type { Operation, OperationKind } from '../disk/operation.js'
import { QueueLife } from '../life/queue-life.js'
import { QueueModel } from '../model/queue-model.js'
import { momentKey, TriedStates } from './state-key.js'
import type { Step, Workload } from '../workload/workload.js'

export interface FailOptions {
  readonly seed: number
  readonly order: EventOrder
  readonly errno: Fault['errno']
  /** The effect of the call before it fails; default: a part of a write. */
  readonly effect?: NonNullable<Fault['effect']>
  /** How often the full disk also refuses to unlink segments and spool files. */
  readonly unlinkRefusals?: number
  /** In the life after the failure, every n-th operation is a power loss; 0: none. */
  readonly powerEvery: number
  /** In every n-th state after a failure, each call of the next start fails, too, up to the end of
   * recovery. Default: none. */
  readonly againEvery?: number
  /** Submitted in the life after the failure. */
  readonly more?: readonly Step[]
  /** Stop at the first violation. */
  readonly untilFirst?: boolean
  /** Only the failure of this call, counted among those that can fail so. */
  readonly op?: number
}

const powerStatesMax = 2

/** The states tried after first and second failures. */
interface Tried {
  readonly first: TriedStates
  readonly second: TriedStates
}

export async function failEach(workload: Workload, options: FailOptions): Promise<HuntResult> {
  const { seed, order } = options
  let operationCount = 0
  const whole = new QueueLife({
    seed,
    order,
    workload,
    model: new QueueModel(),
    onOperation: (_, { operation }) => {
      if (kindsOf(options.errno).includes(operation.kind)) operationCount++
    },
  })
  await runToEnd(whole, workload)
  const result = {
    operationCount,
    crashCount: 0,
    duplicateCount: 0,
    recoveredCount: 0,
    findings: [] as Finding[],
  }
  const tried = { first: new TriedStates(), second: new TriedStates() }
  for (let op = 1; op <= operationCount; op++) {
    if (options.op === undefined || options.op === op) await failAt(workload, options, op, result, tried)
    if (options.untilFirst === true && result.findings.length > 0) break
  }
  return result
}

async function failAt(
  workload: Workload,
  options: FailOptions,
  op: number,
  result: HuntResult,
  tried: Tried,
): Promise<void> {
  const { seed, order, errno, powerEvery, againEvery = 0, more = [] } = options
  const model = new QueueModel()
  const life = new QueueLife({
    seed,
    order,
    workload,
    model,
    faults: faultsOf(options, op),
  })
  await runToEnd(life, workload)
  result.crashCount++
  const failed = life.trouble.failedCalls[0]?.operation
  judgeEnd(life, model, errno)
  if (life.ended === undefined) life.queue!.crash()
  const mayBeLeft = mayComeBack(life.disk.image)
  const points: CrashPoint[] = []
  const { image } = copyImage(life.disk.image)
  const where = `${failed?.kind ?? 'nothing'} ${failed?.path ?? ''} fails with ${errno}`
  const left: Left = { model: model.copy(), image, wallMs: life.endedAtMs, where }
  const isNew = tried.first.add(momentKey(left), image)
  const isAgain = options.op === op || (isNew && tried.first.count % againEvery === 0)
  let startCalls = 0
  const next = await aftermath({
    seed: seed + op,
    order,
    workload,
    model: model.copy(),
    image: life.disk.image,
    wallMs: life.endedAtMs + 1,
    more,
    onOperation: (current, call) => {
      if (!current.recovered && kindsOf(errno).includes(call.operation.kind)) startCalls++
      if (powerEvery > 0 && call.n % powerEvery === op % powerEvery)
        points.push(crashPoint(current, call, { seed: op, statesMax: powerStatesMax, exhaustiveUnitsMax: 0 }))
    },
  })
  note(result, next.model, seed, op, undefined, where, mayBeLeft)
  if (againEvery > 0 && isAgain)
    for (let at = 1; at <= startCalls; at++)
      await failAgainAt(workload, options, op, left, at, result, tried.second)
  for (const point of points)
    for (const state of point.states) {
      result.crashCount++
      const last = await aftermath({
        seed: seed + op + point.n,
        order,
        workload,
        model: point.model.copy(),
        image: state.image,
        wallMs: point.wallMs + 1,
      })
      const both = `${where}; then before ${point.operation}; ${state.describe()}`
      note(result, last.model, seed, op, point.n, both, mayBeLeft)
    }
}

/** A failed call ends the life, or does not, as its kind demands. */
function judgeEnd(life: QueueLife, model: QueueModel, errno: FailOptions['errno']): void {
  const call = life.trouble.failedCalls[0]
  if (call === undefined) return
  const { kind, path } = call.operation
  if (endsLife(call.operation, errno) && life.ended === undefined)
    model.violate('O8', `${kind} of ${path} failed with ${errno}, and the life went on`)
  if (call.phase !== 'opening' && canBeWaitedFor(call.operation, errno) && life.ended !== undefined)
    model.violate('O8', `${kind} of ${path} failed with ${errno}, and the life ended`)
}

/** The state after a life with a failure. */
interface Left {
  readonly model: QueueModel
  readonly image: DiskImage
  readonly wallMs: number
  readonly where: string
}

/** A call of the start that follows a failure fails, too. */
async function failAgainAt(
  workload: Workload,
  options: FailOptions,
  op: number,
  left: Left,
  at: number,
  result: HuntResult,
  tried: TriedStates,
): Promise<void> {
  const { seed, order, errno, more = [] } = options
  const common = { seed: seed + op, order, workload }
  const model = left.model.copy()
  const { image } = copyImage(left.image)
  const start = { ...common, model, image, wallMs: left.wallMs + 1, more }
  const life = await oneLife({ ...start, faults: faultsOf(options, at) })
  const failed = life.trouble.failedCalls[0]?.operation
  if (failed !== undefined && endsLife(failed, errno) && life.ended === undefined)
    model.violate('O8', `${failed.kind} of ${failed.path} failed with ${errno}, and the life went on`)
  if (life.ended === undefined) life.queue!.crash()
  const mayBeLeft = new Set([...mayComeBack(left.image), ...mayComeBack(image)])
  const where = `${left.where}; at the next start ${failed?.kind ?? 'nothing'} ${failed?.path ?? ''}`
  if (model.violations.length > 0) return note(result, model, seed, op, at, where, mayBeLeft)
  const wallMs = life.world.clock.wallMs()
  const powerLosses = [...life.disk.crashStates({ seed: at, statesMax: 1 })]
  for (const state of [{ image, describe: () => 'in the same boot' }, ...powerLosses]) {
    if (!tried.add(momentKey({ model, wallMs }), state.image)) continue
    result.crashCount++
    const third = { ...common, model: model.copy(), image: state.image, wallMs: wallMs + 1 }
    const last = await aftermath(third)
    note(result, last.model, seed, op, at, `${where}; ${state.describe()}`, mayBeLeft)
  }
}

const faultsOf = (
  { errno, effect = 'part', unlinkRefusals: count = 0 }: FailOptions,
  at: number,
): Fault[] => [
  { at, errno, kinds: kindsOf(errno), effect },
  ...(count === 0 ? [] : ['journal', 'lanes', 'spool']).map(
    (under) => ({ at: 1, errno, kinds: ['unlink'], under, effect, count }) as const,
  ),
]

function note(
  result: HuntResult,
  model: QueueModel,
  seed: number,
  op: number,
  secondOp: number | undefined,
  where: string,
  mayBeLeft: ReadonlySet<string>,
): void {
  result.duplicateCount += model.duplicateCount
  for (const violation of model.violations)
    if (!isOfOneLeft(violation, mayBeLeft)) result.findings.push({ ...violation, seed, op, secondOp, where })
}

/** Nothing but the end of the life may follow the failure of this call. */
export function endsLife({ kind, path }: Operation, errno: Fault['errno']): boolean {
  if (errno === 'EMFILE' || (!path.startsWith('journal') && !path.startsWith('lanes'))) return false
  if (kind === 'sync' || kind === 'syncDirectory') return !path.endsWith('.fill') || !isFull(errno)
  return kind === 'writeSynced'
}

const changing: readonly OperationKind[] = [
  'write',
  'writeSynced',
  'create',
  'makeDirectory',
  'rename',
  'sync',
  'syncDirectory',
]
const sized: readonly OperationKind[] = ['read', 'write', 'writeSynced']
const opening: readonly OperationKind[] = ['open', 'create', 'list', 'syncDirectory']
const any: readonly OperationKind[] = [
  ...changing,
  'read',
  'open',
  'list',
  'unlink',
  'removeDirectory',
  'truncate',
  'size',
  'stat',
  'lock',
]

/** Calls that need room in a directory, or a descriptor, can wait for it. */
const canBeWaitedFor = ({ kind }: Operation, errno: Fault['errno']): boolean =>
  errno === 'EMFILE' || (isFull(errno) && (kind === 'create' || kind === 'rename'))

const isFull = (errno: Fault['errno']): boolean => errno === 'ENOSPC' || errno === 'EDQUOT'

/** Calls that can fail in this way. */
export function kindsOf(errno: Fault['errno']): readonly OperationKind[] {
  if (errno === 'SHORT') return sized
  if (errno === 'EMFILE') return opening
  return isFull(errno) ? changing : any
}
