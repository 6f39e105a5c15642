/** The modes of a crash hunt: random runs, runs with rot, tortures, a crash before each operation.
 * Invariant: all differences between them stand in this table. */
import type { DiskModeName } from '../../src/sim/disk/disk-mode.js'
import type { Finding, HuntResult } from '../../src/sim/hunt/exhaustive.js'
import { crashHuntNames, hunt, type HuntName } from '../../src/sim/hunt/hunt.js'
import { nodesRun } from '../../src/sim/hunt/nodes-run.js'
import { randomRun } from '../../src/sim/hunt/random-run.js'
import { rotRun } from '../../src/sim/hunt/rot-run.js'
import { shrink, shrinkRot, shrinkTorture, type Shrunk } from '../../src/sim/hunt/shrink.js'
import type { Tally } from '../../src/sim/hunt/tally.js'
import { tortureRun } from '../../src/sim/hunt/torture.js'

export interface HuntedRun {
  readonly seed: number
  /** Only these pieces. */
  readonly only?: readonly number[]
  /** Only the crash before this operation, where there is one a run. */
  readonly op?: number
  /** The kind of disk. Default: a file system. */
  readonly disk?: DiskModeName
}

export interface Mode {
  readonly run: (run: HuntedRun) => Promise<HuntResult & { readonly met?: Tally }>
  readonly shrink: (finding: Finding, disk: HuntedRun['disk']) => Promise<Shrunk>
  /** The unit of a finding's number. */
  readonly unit: 'op' | 'life'
  /** The options that run it again. */
  readonly replay: (finding: Finding) => string
}

/** What befalls nodes is drawn from the seed, and a small workload is one piece. */
const asItIs: Mode['shrink'] = (finding) => Promise.resolve({ finding, only: undefined })

export const modeNames = ['random', 'exhaustive', 'rot', 'torture', 'nodes', 'failover'] as const
export type ModeName = (typeof modeNames)[number]

/** Seed after seed another workload. */
const workloadOf = (seed: number): HuntName => crashHuntNames[seed % crashHuntNames.length]!

export const modes: Readonly<Record<ModeName, Mode>> = {
  random: {
    run: randomRun,
    shrink,
    unit: 'op',
    replay: ({ seed, op }) => `--seed ${seed} --op ${op}`,
  },
  exhaustive: {
    run: ({ seed, op }) => hunt(workloadOf(seed), seed, op),
    shrink: asItIs,
    unit: 'op',
    replay: ({ seed, op }) => `--exhaustive --seed ${seed} --op ${op}`,
  },
  rot: {
    run: rotRun,
    shrink: shrinkRot,
    unit: 'op',
    replay: ({ seed, op }) => `--rot --seed ${seed} --op ${op}`,
  },
  torture: {
    run: tortureRun,
    shrink: shrinkTorture,
    unit: 'life',
    replay: ({ seed }) => `--torture --seed ${seed}`,
  },
  nodes: {
    run: ({ seed }) => nodesRun(seed, 'nodes'),
    shrink: asItIs,
    unit: 'op',
    replay: ({ seed }) => `--nodes --seed ${seed}`,
  },
  failover: {
    run: ({ seed }) => nodesRun(seed, 'failover'),
    shrink: asItIs,
    unit: 'op',
    replay: ({ seed }) => `--failover --seed ${seed}`,
  },
}
