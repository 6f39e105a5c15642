/** The hunts by name, each a bounded search that stops at the first broken promise. */
import { askedOfMany, asking } from '../workload/asking-workloads.js'
import { exhaust, type ExhaustOptions, type HuntResult } from './exhaustive.js'
import { failEach } from './failing.js'
import { fatalRun } from './fatal.js'
import { appendRun, nodesRun } from './nodes-run.js'
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
  limited,
  suspended,
  turning,
} from '../workload/small-workloads.js'
import { cleaned } from '../workload/cleaned.js'
import { diskHangs, drained, hangsInDoubt, onDisk } from '../workload/machine-workloads.js'
import { consumed } from '../workload/consumed.js'
import { keyed } from '../workload/keyed.js'
import { timed } from '../workload/timed.js'
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
  'consumed',
  'timed',
  'suspended',
  'limited',
  'changed',
  'clock is set',
  'given up',
  'expired apart',
  'crowd on hold',
  'disk hangs',
  'hangs in doubt',
  'drained',
  'cleaned',
  'fatal',
  'fresh segments',
  'store',
  'one log',
  'second crash',
  'one append',
  'nodes',
  'failover',
  'interruptions',
  'replaced primary',
] as const
export type HuntName = (typeof huntNames)[number]

/** Seeds of a random hunt, of one for rot, of one for rot behind starts, of a torture, and of a
 * fatal message. */
const randomSeeds = 120
const rotSeeds = 40
const rotBehindStartsSeeds = 8
const tortureSeeds = 100
const fatalSeeds = 40
/** Runs of nodes on a store, which are longer. */
const nodesSeeds = 100
/** Times that all cases of one append are tried, with other chances. */
const appendSalts = 5

/** Hunts that crash before each operation of one workload. */
const crashHunts = {
  everything: { workload: everything },
  carried: { workload: carried },
  turning: { workload: turning },
  crowded: { workload: crowded },
  operated: { workload: operated },
  redirected: { workload: redirected },
  accepting: { workload: accepting },
  'accepting between': {
    workload: carried,
    options: { after: onlyAccepts(carried), orders: ordersBetween },
  },
  'many recipients': { workload: manyRecipients },
  asking: { workload: asking },
  'asked of many': { workload: askedOfMany },
  keyed: { workload: keyed },
  consumed: { workload: consumed },
  timed: { workload: timed },
  suspended: { workload: suspended, options: { every: 5, power: { statesMax: 4, randomStates: 1 } } },
  limited: { workload: limited, options: { every: 5, power: { statesMax: 4, randomStates: 1 } } },
  changed: { workload: inOneLog(carried), options: { after: changedPolicy(carried) } },
  'clock is set': { workload: clockIsSet },
  'given up': { workload: givenUp },
  'expired apart': { workload: expiredApart },
  'crowd on hold': {
    workload: crowdOnHold,
    options: { every: 13, power: { statesMax: 2, randomStates: 1 } },
  },
  'disk hangs': { workload: diskHangs },
  'hangs in doubt': {
    workload: hangsInDoubt,
    options: { every: 5, power: { statesMax: 2, randomStates: 1 } },
  },
  drained: { workload: drained },
  cleaned: { workload: cleaned, options: { every: 3, power: { statesMax: 4, randomStates: 1 } } },
  'fresh segments': { workload: onDisk(carried, 'fresh segments') },
  store: { workload: onDisk(carried, 'store') },
  'one log': { workload: inOneLog(everything) },
  'second crash': {
    workload: everything,
    options: { secondEvery: 11, secondStatesMax: 2, kills: false },
  },
} satisfies Partial<Record<HuntName, CrashHunt>>

interface CrashHunt {
  readonly workload: Workload
  readonly options?: Partial<ExhaustOptions>
}

/** Their names: workloads with a crash before each operation. */
export const crashHuntNames: readonly HuntName[] = Object.keys(crashHunts) as (keyof typeof crashHunts)[]

const crashHuntOf = (name: keyof typeof crashHunts): CrashHunt => crashHunts[name]
const isCrashHunt = (name: HuntName): name is keyof typeof crashHunts => Object.hasOwn(crashHunts, name)

/** @param op only the crash before this operation, of this seed, as a finding names it. Default:
 * the whole hunt */
export async function hunt(name: HuntName, seed: number, op?: number): Promise<HuntResult> {
  const only = op === undefined ? {} : { op }
  if (isCrashHunt(name)) {
    const { workload, options } = crashHuntOf(name)
    return crashes(workload, seed, { ...options, ...only })
  }
  switch (name) {
    case 'fatal':
      return series(seed, fatalSeeds, (next) => fatalRun({ seed: next }))
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
    case 'one append':
      return series(seed, appendSalts, appendRun)
    case 'nodes':
    case 'failover':
    case 'interruptions':
    case 'replaced primary':
      return series(seed, nodesSeeds, (next) => nodesRun(next, name))
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
