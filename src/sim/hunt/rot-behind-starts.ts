/** Rot in the last batch, behind a start that ends right after it has removed something.
 * Invariant: a start removes a file only behind a batch of the same life, so cutting the last batch
 * brings nothing back that needs the file. Random rot seldom meets this order of events:
 *    1. the batch that ends a large message is durable; the process is killed
 *    2. a start unlinks its spool file, and is killed
 *    3. one bit of the last batch turns over
 * Or another start lies between the two that has made a segment and no batch. */
import { at } from './random-run.js'
import type { HuntResult } from './exhaustive.js'
import { rottenInLastBatch } from './rot.js'
import { aftermath, firstLife, runToEnd } from '../life/aftermath.js'
import { crashPoint, type CrashPoint } from '../life/crash-point.js'
import type { CrashState } from '../disk/crash-states.js'
import type { DiskImage } from '../disk/disk-image.js'
import type { Operation } from '../disk/operation.js'
import { QueueLife } from '../life/queue-life.js'
import { QueueModel } from '../model/queue-model.js'
import type { Workload } from '../workload/workload.js'

/** Removals of one start after which it is killed. */
const removalsMax = 3

export interface RotBehindStartsOptions {
  readonly seed: number
  /** Only after the crash before this operation of the first life. */
  readonly op?: number
  /** A life before that one, which comes to its end. Default: none. */
  readonly before?: Workload
}

/** Kills the first life before each operation, and each start that follows behind each of its first
 * removals. Ends with the first broken promise. */
export async function rotBehindStarts(
  workload: Workload,
  { seed, op, before }: RotBehindStartsOptions,
): Promise<HuntResult> {
  /** Two of each: a life changes its image. */
  const points: (readonly [CrashPoint, CrashPoint])[] = []
  const model = new QueueModel()
  const earlier = before && (await firstLife({ seed, order: 'seeded', workload: before, model }))
  earlier?.queue?.crash()
  const life = new QueueLife({
    seed,
    order: 'seeded',
    workload,
    model,
    ...(earlier && { image: earlier.disk.image, wallStartMs: earlier.world.clock.wallMs() + 1 }),
    onOperation: (current, call) => {
      if ((op ?? call.n) === call.n)
        points.push([crashPoint(current, call, undefined), crashPoint(current, call, undefined)])
    },
  })
  await runToEnd(life, workload)
  const result: HuntResult = {
    operationCount: life.disk.callCount,
    crashCount: 0,
    duplicateCount: 0,
    recoveredCount: 0,
    findings: [],
  }
  for (const [first, other] of points)
    for (const point of await killedStarts(workload, seed, first, other)) {
      await rotAt(workload, point, result, { seed, op: first.n })
      if (result.findings.length > 0) return result
    }
  return result
}

/** Starts after a kill that are killed, too: each, and one after a start that has made a
 * segment and no batch. */
async function killedStarts(
  workload: Workload,
  seed: number,
  first: CrashPoint,
  other: CrashPoint,
): Promise<CrashPoint[]> {
  const killed: CrashPoint[] = []
  for (const { image } of firstOf(first.states, 2))
    killed.push(...(await killedBehind(removals, workload, seed, first, image)))
  for (const { image } of firstOf(other.states, 2))
    for (const begun of await killedBehind(segment, workload, seed, other, image))
      for (const between of firstOf(begun.states, 1))
        killed.push(...(await killedBehind(removals, workload, seed, begun, between.image)))
  return killed
}

/** The states of a kill that are tried. */
function* firstOf(states: Iterable<CrashState>, countMax: number): Generator<CrashState> {
  let left = countMax
  for (const state of states) {
    yield state
    if (--left === 0) return
  }
}

/** The calls behind which a start is killed. */
interface Behind {
  readonly is: (operation: Operation) => boolean
  /** Only so many of the first. */
  readonly countMax: number
}

const removals: Behind = {
  is: ({ kind, path }) => kind === 'removeDirectory' || (kind === 'unlink' && path.startsWith('spool/')),
  countMax: removalsMax,
}

/** Its first segment, in which there is no batch yet. */
const segment: Behind = {
  is: (operation) => operation.kind === 'rename' && /^journal\/[0-9a-f]{12}\.log$/.test(operation.to),
  countMax: 1,
}

/** The start on an image, killed before the call that follows each of these. */
async function killedBehind(
  { is, countMax }: Behind,
  workload: Workload,
  seed: number,
  first: CrashPoint,
  image: DiskImage,
): Promise<CrashPoint[]> {
  const killed: CrashPoint[] = []
  let isBehind = false
  await aftermath({
    seed: seed + first.n,
    order: 'slow syncs',
    workload,
    model: first.model.copy(),
    image,
    wallMs: first.wallMs + 1,
    looks: false,
    onOperation: (current, call) => {
      if (isBehind) killed.push(crashPoint(current, call, undefined))
      isBehind = is(call.operation)
      if (current.recovered || killed.length === countMax) current.world.stop()
    },
  })
  return killed
}

/** One bit of the last batch, in one of the images of a kill. */
async function rotAt(
  workload: Workload,
  point: CrashPoint,
  result: HuntResult,
  { seed, op }: { readonly seed: number; readonly op: number },
): Promise<void> {
  for (const { image, describe } of firstOf(point.states, 2)) {
    const prng = at(seed, op * 1000 + point.n)
    const found = await rottenInLastBatch({
      seed,
      order: 'seeded',
      workload,
      point,
      image,
      prng,
    })
    result.crashCount++
    const where = `then a start before ${point.operation}; ${describe()}; then rot in the last batch`
    result.findings.push(
      ...found.map((violation) => ({
        ...violation,
        seed,
        op,
        secondOp: point.n,
        where,
      })),
    )
    if (found.length > 0) return
  }
}
