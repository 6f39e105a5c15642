/** Makes a failing seed small: fewer pieces, as long as a promise is still broken.
 * Invariant: the smaller seed still fails, and can be replayed by its numbers alone. */
import type { DiskModeName } from '../disk/disk-mode.js'
import type { Finding, HuntResult } from './exhaustive.js'
import { planOf, randomRun } from './random-run.js'
import { pieceCountOf, tortureOf } from './torture-plan.js'
import { rotRun } from './rot-run.js'
import { tortureRun } from './torture.js'

export interface Shrunk {
  readonly finding: Finding
  /** The pieces that are needed, by index: of a random run the messages; undefined: all. */
  readonly only: readonly number[] | undefined
}

/** Leaves out parts, one at a time, then smaller parts of the rest, down to single pieces. */
const partsMax = 12

/** @param finding of `randomRun({ seed })` */
export const shrink = (finding: Finding, disk?: DiskModeName): Promise<Shrunk> =>
  shrinkBy(finding, planOf({ seed: finding.seed }).workload.steps.length, (only) =>
    randomRun({ seed: finding.seed, only, untilFirst: true, ...on(disk) }),
  )

/** @param finding of `rotRun({ seed })` */
export const shrinkRot = (finding: Finding, disk?: DiskModeName): Promise<Shrunk> =>
  shrinkBy(finding, planOf({ seed: finding.seed }).workload.steps.length, (only) =>
    rotRun({ seed: finding.seed, only, untilFirst: true, ...on(disk) }),
  )

/** @param finding of `tortureRun({ seed })` */
export const shrinkTorture = (finding: Finding, disk?: DiskModeName): Promise<Shrunk> =>
  shrinkBy(finding, pieceCountOf(tortureOf(finding.seed)), (only) =>
    tortureRun({ seed: finding.seed, only, ...on(disk) }),
  )

const on = (disk: DiskModeName | undefined): { readonly disk?: DiskModeName } =>
  disk === undefined ? {} : { disk }

async function shrinkBy(
  finding: Finding,
  pieceCount: number,
  run: (only: readonly number[]) => Promise<HuntResult>,
): Promise<Shrunk> {
  let only = Array.from({ length: pieceCount }, (_, index) => index)
  let best = finding
  let shorter = false
  for (let piece = Math.ceil(pieceCount / partsMax); piece > 0; piece = Math.floor(piece / 3))
    for (let from = 0; from < only.length;) {
      const fewer = only.filter((_, at) => at < from || at >= from + piece)
      const { findings } = await run(fewer)
      const [found] = findings
      if (found === undefined) {
        from += piece
        continue
      }
      only = fewer
      best = found
      shorter = true
    }
  return { finding: best, only: shorter ? only : undefined }
}
