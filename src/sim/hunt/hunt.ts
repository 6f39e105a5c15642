/** The hunts by name, each a bounded search that stops at the first broken promise. */
import { askedOfMany, asking } from '../workload/asking-workloads.js'
import { exhaust, type ExhaustOptions, type HuntResult } from './exhaustive.js'
import { failEach } from './failing.js'
import { fatalRun } from './fatal.js'
import { randomRun } from './random-run.js'
import { rotBehindStarts } from './rot-behind-starts.js'
import { rotRun } from './rot-run.js'
import {
  accepting,
  afterwards,
  carried,
  changedPolicy,
  clockIsSet,
  crowdOnHold,
  crowded,
  everything,
  expiredApart,
  givenUp,
  inOneLog,
  manyRecipients,
  onlyAccepts,
  operated,
  ordersBetween,
  redirected,
  turning,
} from '../workload/small-workloads.js'
import { diskHangs, drained, onDisk } from '../workload/machine-workloads.js'
import { keyed } from '../workload/keyed.js'
import { tortureRun } from './torture.js'
import type { Workload } from '../workload/workload.js'

export const huntNames = [
  'random',
  'rot',
  'rot behind starts',
  'rot behind retired lanes',
  'failing',
  'torture',
  'everything',
  'carried',
  'turning',
  'crowded',
  'operated',
  'redirected',
  'accepting',
  'accepting between',
  'many recipients',
  'asking',
  'asked of many',
  'keyed',
  'changed',
  'clock is set',
  'given up',
  'expired apart',
  'crowd on hold',
  'disk hangs',
  'drained',
  'fatal',
  'fresh segments',
  'store',
  'one log',
  'second crash',
] as const
export type HuntName = (typeof huntNames)[number]

/** Seeds of a random hunt, of one for rot, of one for rot behind starts, of a torture, and of a
 * fatal message. */
const randomSeeds = 120
const rotSeeds = 40
const rotBehindStartsSeeds = 8
const tortureSeeds = 100
const fatalSeeds = 40

/** @param op only the crash before this operation, of this seed, as a finding names it. Default:
 * the whole hunt */
export async function hunt(name: HuntName, seed: number, op?: number): Promise<HuntResult> {
  const only = op === undefined ? {} : { op }
  const crashesOf = (workload: Workload, options: Partial<ExhaustOptions> = {}): Promise<HuntResult> =>
    crashes(workload, seed, { ...options, ...only })
  switch (name) {
    case 'everything':
      return crashesOf(everything)
    case 'carried':
      return crashesOf(carried)
    case 'turning':
      return crashesOf(turning)
    case 'crowded':
      return crashesOf(crowded)
    case 'operated':
      return crashesOf(operated)
    case 'redirected':
      return crashesOf(redirected)
    case 'accepting':
      return crashesOf(accepting)
    case 'accepting between':
      return crashesOf(carried, {
        after: onlyAccepts(carried),
        orders: ordersBetween,
      })
    case 'many recipients':
      return crashesOf(manyRecipients)
    case 'asking':
      return crashesOf(asking)
    case 'asked of many':
      return crashesOf(askedOfMany)
    case 'keyed':
      return crashesOf(keyed)
    case 'changed':
      return crashesOf(inOneLog(carried), { after: changedPolicy(carried) })
    case 'clock is set':
      return crashesOf(clockIsSet)
    case 'given up':
      return crashesOf(givenUp)
    case 'expired apart':
      return crashesOf(expiredApart)
    case 'crowd on hold':
      return crashesOf(crowdOnHold, {
        every: 13,
        power: { statesMax: 2, randomStates: 1 },
      })
    case 'disk hangs':
      return crashesOf(diskHangs)
    case 'drained':
      return crashesOf(drained)
    case 'fatal':
      return series(seed, fatalSeeds, (next) => fatalRun({ seed: next }))
    case 'fresh segments':
      return crashesOf(onDisk(carried, 'fresh segments'))
    case 'store':
      return crashesOf(onDisk(carried, 'store'))
    case 'one log':
      return crashesOf(inOneLog(everything))
    case 'second crash':
      return crashesOf(everything, {
        secondEvery: 11,
        secondStatesMax: 2,
        kills: false,
      })
    case 'failing':
      return failEach(everything, {
        seed,
        order: 'fifo',
        errno: 'EIO',
        effect: 'all',
        powerEvery: 11,
        untilFirst: true,
        ...only,
      })
    case 'random':
      return op === undefined
        ? series(seed, randomSeeds, (next) => randomRun({ seed: next, untilFirst: true }))
        : randomRun({ seed, op, untilFirst: true })
    case 'rot':
      return op === undefined
        ? series(seed, rotSeeds, (next) => rotRun({ seed: next, untilFirst: true }))
        : rotRun({ seed, op, untilFirst: true })
    case 'rot behind starts':
      return op === undefined
        ? series(seed, rotBehindStartsSeeds, (next) => rotBehindStarts(carried, { seed: next }))
        : rotBehindStarts(carried, { seed, op })
    case 'rot behind retired lanes':
      return rotBehindStarts(
        { ...changedPolicy(carried), steps: afterwards },
        { seed, before: carried, ...only },
      )
    case 'torture':
      return series(seed, tortureSeeds, (next) => tortureRun({ seed: next }))
  }
}

/** A crash before each operation of a workload, up to the first broken promise. */
export const crashes = (
  workload: Workload,
  seed: number,
  options: Partial<ExhaustOptions> = {},
): Promise<HuntResult> =>
  exhaust(workload, {
    seed,
    order: 'fifo',
    power: { statesMax: 8, exhaustiveUnitsMax: 3, randomStates: 2 },
    kills: true,
    secondEvery: 0,
    secondStatesMax: 0,
    more: afterwards,
    untilFirst: true,
    ...options,
  })

/** Seed after seed, up to the first broken promise. */
async function series(
  seed: number,
  count: number,
  run: (seed: number) => Promise<HuntResult>,
): Promise<HuntResult> {
  const sum: HuntResult = {
    operationCount: 0,
    crashCount: 0,
    duplicateCount: 0,
    recoveredCount: 0,
    findings: [],
  }
  for (let next = seed; next < seed + count && sum.findings.length === 0; next++) {
    const result = await run(next)
    sum.crashCount += result.crashCount
    sum.duplicateCount += result.duplicateCount
    sum.recoveredCount += result.recoveredCount
    sum.findings.push(...result.findings)
  }
  return sum
}
