/** A crash at every operation of a workload, and at every operation of the recovery that follows.
 * Invariant: each crash comes before a call takes effect, while it is under way, so its change may
 * be there, in part, or not. The same workload, seed and options give the same result. A state that
 * an earlier crash left is not tried again. */
import { aftermath, firstLife } from '../life/aftermath.js'
import { crashPoint, type CrashPoint } from '../life/crash-point.js'
import type { CrashOptions, CrashState } from '../disk/crash-states.js'
import type { EventOrder } from '../world/event-queue.js'
import { QueueModel } from '../model/queue-model.js'
import { momentKey, TriedStates } from './state-key.js'
import type { Violation } from '../model/violation.js'
import type { Step, VerbStep, Workload } from '../workload/workload.js'

export interface ExhaustOptions {
  readonly seed: number
  readonly order: EventOrder
  /** Power losses and the number of sets tried; see CrashOptions. */
  readonly power: CrashOptions
  /** The process is killed as well, at every operation. */
  readonly kills: boolean
  /** Each so-manieth crash is followed by crashes at every operation of its recovery; 0: none. */
  readonly secondEvery: number
  /** States of each second crash. */
  readonly secondStatesMax: number
  /** Submitted in the life after the crash. */
  readonly more?: readonly Step[]
  /** Ordered in the life after the crash. */
  readonly orders?: readonly VerbStep[]
  /** How the queue is set up after the crash. Default: as before. */
  readonly after?: Workload
  /** Only the crash before this operation. */
  readonly op?: number
  /** Only the crashes before each so-manieth operation. Default 1. */
  readonly every?: number
  /** Stop at the first violation. */
  readonly untilFirst?: boolean
}

/** A violation, and how to see it again. */
export interface Finding extends Violation {
  readonly seed: number
  /** The operation before which the crash came, and the one of the recovery, if there was
   * a second crash. */
  readonly op: number
  readonly secondOp: number | undefined
  readonly where: string
}

export interface HuntResult {
  operationCount: number
  /** States that crashes left. */
  crashCount: number
  /** States of them that were tried already: disk, promises and time were the same. Default:
   * none. */
  sameCount?: number
  duplicateCount: number
  recoveredCount: number
  readonly findings: Finding[]
}

export interface ExhaustResult extends HuntResult {
  sameCount: number
}

const findingsMax = 50

export async function exhaust(workload: Workload, options: ExhaustOptions): Promise<ExhaustResult> {
  const { seed, order, power, kills } = options
  const points: CrashPoint[] = []
  const model = new QueueModel()
  const life = await firstLife({
    seed,
    order,
    workload,
    model,
    onOperation: (current, call) => {
      if ((options.op ?? call.n) !== call.n || call.n % (options.every ?? 1) !== 0) return
      points.push(crashPoint(current, call, { seed: seed + call.n, ...power }))
      if (kills) points.push(crashPoint(current, call, undefined))
    },
  })
  const result: ExhaustResult = {
    operationCount: life.disk.callCount,
    crashCount: 0,
    sameCount: 0,
    duplicateCount: 0,
    recoveredCount: 0,
    findings: model.violations.map((violation) => ({
      ...violation,
      seed,
      op: 0,
      secondOp: undefined,
      where: 'without any crash',
    })),
  }
  // The life after a second crash differs: nothing more is submitted or ordered.
  const tried = { first: new TriedStates(), second: new TriedStates() }
  for (const point of points) {
    if (result.findings.length >= findingsMax || (options.untilFirst === true && result.findings.length > 0))
      break
    await crashAt(workload, options, point, result, tried)
  }
  return result
}

type Tried = Readonly<Record<'first' | 'second', TriedStates>>

/** Counts the state. @returns whether it was not tried before */
function isNew(result: ExhaustResult, tried: TriedStates, moment: string, { image }: CrashState): boolean {
  result.crashCount++
  const wasNew = tried.add(moment, image)
  if (!wasNew) result.sameCount++
  return wasNew
}

async function crashAt(
  workload: Workload,
  options: ExhaustOptions,
  point: CrashPoint,
  result: ExhaustResult,
  tried: Tried,
): Promise<void> {
  const { seed, order, more = [], orders = [], power, secondEvery, secondStatesMax } = options
  const moment = momentKey(point)
  for (const state of point.states) {
    if (!isNew(result, tried.first, moment, state)) continue
    const isSecond = secondEvery > 0 && tried.first.count % secondEvery === 0
    const second: CrashPoint[] = []
    const where = (): string => `before ${point.operation}; ${state.describe()}`
    const life = await aftermath({
      seed: seed + point.n,
      order,
      workload: options.after ?? workload,
      model: point.model.copy(),
      image: state.image,
      wallMs: point.wallMs + 1,
      more,
      orders,
      ...(isSecond
        ? {
            onOperation: (current, call) => {
              if (!current.recovered)
                second.push(
                  crashPoint(current, call, {
                    seed: seed + call.n,
                    ...power,
                    statesMax: secondStatesMax,
                    exhaustiveUnitsMax: 1,
                  }),
                )
            },
          }
        : {}),
    })
    note(result, life.model, seed, point.n, undefined, where)
    result.recoveredCount += life.recoveredCount
    for (const next of second) await crashAgainAt(workload, options, point, next, where, result, tried.second)
    if (result.findings.length >= findingsMax) return
  }
}

/** @param where the first crash, in words */
async function crashAgainAt(
  workload: Workload,
  options: ExhaustOptions,
  point: CrashPoint,
  next: CrashPoint,
  where: () => string,
  result: ExhaustResult,
  tried: TriedStates,
): Promise<void> {
  const { seed, order } = options
  const moment = momentKey(next)
  for (const state of next.states) {
    if (result.findings.length >= findingsMax) return
    if (!isNew(result, tried, moment, state)) continue
    const last = await aftermath({
      seed: seed + point.n + next.n,
      order,
      workload: options.after ?? workload,
      model: next.model.copy(),
      image: state.image,
      wallMs: next.wallMs + 1,
    })
    const both = (): string => `${where()}; again before ${next.operation}; ${state.describe()}`
    note(result, last.model, seed, point.n, next.n, both)
  }
}

function note(
  result: HuntResult,
  model: QueueModel,
  seed: number,
  op: number,
  secondOp: number | undefined,
  where: () => string,
): void {
  result.duplicateCount += model.duplicateCount
  for (const violation of model.violations)
    result.findings.push({ ...violation, seed, op, secondOp, where: where() })
}
