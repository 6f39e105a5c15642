/** Verbs of the crash tests. A finding prints what it takes to see it again. */
import { describeViolation } from '../../src/sim/model/violation.js'
import { exhaust, type ExhaustOptions, type Finding, type HuntResult } from '../../src/sim/hunt/exhaustive.js'
import type { Workload } from '../../src/sim/workload/workload.js'
import { afterwards } from '../../src/sim/workload/small-workloads.js'

/** Few states of each crash, so that every crash of a workload is seen within seconds. */
export const crashEverywhere = (
  workload: Workload,
  options: Partial<ExhaustOptions> & Pick<ExhaustOptions, 'seed' | 'order'>,
): Promise<HuntResult> =>
  exhaust(workload, {
    power: {
      statesMax: 7,
      exhaustiveUnitsMax: 2,
      randomStates: 2,
      sectorBytes: options.seed % 2 === 0 ? 4096 : 512,
    },
    kills: true,
    secondEvery: 0,
    secondStatesMax: 0,
    more: afterwards,
    ...options,
  })

export const lines = (findings: readonly Finding[]): string[] =>
  findings.map(
    (finding) =>
      `seed=${finding.seed} op=${finding.op}${finding.secondOp === undefined ? '' : ` then op=${finding.secondOp}`} ` +
      `${describeViolation(finding)} (${finding.where.slice(0, 400)})`,
  )
