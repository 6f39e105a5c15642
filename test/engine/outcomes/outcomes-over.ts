/** Outcomes over a journal that a test plays, on a real disk. */
import { seededPrng } from '../../../src/base/prng.js'
import { sideFiles } from '../../../src/directory/log-files.js'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { Outcomes, type OutcomesOptions } from '../../../src/engine/outcomes/outcomes.js'
import { Garbage } from '../../../src/garbage/pins.js'
import { temporaryDirectory } from '../../temporary-directory.js'

const nothing = (): void => undefined

export async function outcomesOver(
  journal: object,
  checkpointed?: ConstructorParameters<typeof Outcomes>[1],
  run: OutcomesOptions['run'] = nothing,
): Promise<Outcomes> {
  const disk = nodeDisk(await temporaryDirectory('outcomes-over'))
  const outcomes = new Outcomes(
    {
      disk,
      journal: journal as OutcomesOptions['journal'],
      prng: seededPrng(1),
      place: sideFiles(disk, { laneSegmentBytes: 8 * 4096 }, 'outcomes'),
      life: 1,
      pins: new Garbage().of(1),
      bytesMax: 8 * 4096,
      spoolHead: () => Promise.reject(new Error('there is none')),
      run,
      onRoom: () => outcomes.wake(),
      onFull: nothing,
      onFailure: nothing,
      onLoss: nothing,
      onAcknowledged: nothing,
      onCaughtUp: nothing,
    },
    checkpointed,
  )
  return outcomes
}
