/** The hunts by name, each a bounded search that stops at the first broken promise. */
import { exhaust, type ExhaustOptions, type HuntResult } from './exhaustive.js'
import { failEach } from './failing.js'
import { randomRun } from './random-run.js'
import {
  accepting,
  afterwards,
  carried,
  changedPolicy,
  clockIsSet,
  crowdOnHold,
  crowded,
  everything,
  givenUp,
  inOneLog,
  manyRecipients,
  onlyAccepts,
  operated,
  ordersBetween,
  redirected,
  turning,
} from './small-workloads.js'
import type { Workload } from './workload.js'

export const huntNames = [
  'random',
  'failing',
  'everything',
  'carried',
  'turning',
  'crowded',
  'operated',
  'redirected',
  'accepting',
  'accepting between',
  'many recipients',
  'changed',
  'clock is set',
  'given up',
  'crowd on hold',
  'one log',
  'second crash',
] as const
export type HuntName = (typeof huntNames)[number]

/** Seeds of a random hunt. */
const randomSeeds = 120

/** @param op only what comes before this operation, of this seed: where a finding says that it was. Default: all of the hunt */
export async function hunt(name: HuntName, seed: number, op?: number): Promise<HuntResult> {
  const only = op === undefined ? {} : { op }
  switch (name) {
    case 'everything':
      return crashes(everything, seed, only)
    case 'carried':
      return crashes(carried, seed, only)
    case 'turning':
      return crashes(turning, seed, only)
    case 'crowded':
      return crashes(crowded, seed, only)
    case 'operated':
      return crashes(operated, seed, only)
    case 'redirected':
      return crashes(redirected, seed, only)
    case 'accepting':
      return crashes(accepting, seed, only)
    case 'accepting between':
      return crashes(carried, seed, { after: onlyAccepts(carried), orders: ordersBetween, ...only })
    case 'many recipients':
      return crashes(manyRecipients, seed, only)
    case 'changed':
      return crashes(inOneLog(carried), seed, { after: changedPolicy(carried), ...only })
    case 'clock is set':
      return crashes(clockIsSet, seed, only)
    case 'given up':
      return crashes(givenUp, seed, only)
    case 'crowd on hold':
      return crashes(crowdOnHold, seed, { every: 13, power: { statesMax: 2, randomStates: 1 }, ...only })
    case 'one log':
      return crashes(inOneLog(everything), seed, only)
    case 'second crash':
      return crashes(everything, seed, { secondEvery: 11, secondStatesMax: 2, kills: false, ...only })
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
      return op === undefined ? randomSeries(seed) : randomRun({ seed, op, untilFirst: true })
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

async function randomSeries(seed: number): Promise<HuntResult> {
  const sum: HuntResult = {
    operationCount: 0,
    crashCount: 0,
    duplicateCount: 0,
    recoveredCount: 0,
    findings: [],
  }
  for (let next = seed; next < seed + randomSeeds && sum.findings.length === 0; next++) {
    const result = await randomRun({ seed: next, untilFirst: true })
    sum.crashCount += result.crashCount
    sum.duplicateCount += result.duplicateCount
    sum.recoveredCount += result.recoveredCount
    sum.findings.push(...result.findings)
  }
  return sum
}
