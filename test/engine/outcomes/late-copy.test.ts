/** What becomes durable while a copy from the journal ends. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { position } from '../../../src/base/position.js'
import { seededPrng } from '../../../src/base/prng.js'
import { sideFiles } from '../../../src/directory/log-files.js'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { Outcomes, type OutcomesOptions } from '../../../src/engine/outcomes/outcomes.js'
import { Garbage } from '../../../src/garbage/pins.js'
import { temporaryDirectory } from '../../temporary-directory.js'

test('what becomes durable at any step of the end of a copy is copied, too', async () => {
  const disk = nodeDisk(await temporaryDirectory('late-copy'))
  const journal = { read: async (_: number, to: number) => to, end: position(0), durableEnd: position(0) }
  const nothing = (): void => undefined
  const outcomes = new Outcomes(
    {
      disk,
      journal: journal as unknown as OutcomesOptions['journal'],
      prng: seededPrng(1),
      place: sideFiles(disk, { laneSegmentBytes: 8 * 4096 }, 'outcomes'),
      life: 1,
      pins: new Garbage().of(1),
      bytesMax: 8 * 4096,
      spoolHead: () => Promise.reject(new Error('there is none')),
      run: nothing,
      onRoom: nothing,
      onFull: nothing,
      onFailure: nothing,
      onLoss: nothing,
      onAcknowledged: nothing,
      onCaughtUp: nothing,
    },
    undefined,
  )
  await outcomes.add({ name: 'it', cursor: 0, isReading: true, isKept: true }, () => Promise.resolve())
  const copied: number[] = []
  const durable: number[] = []
  const becomesDurable = (): void => {
    journal.durableEnd = position(journal.durableEnd + 10)
    outcomes.copy()
  }
  for (let steps = 0; steps < 16; steps++) {
    becomesDurable()
    for (let step = 0; step < steps; step++) await Promise.resolve()
    becomesDurable()
    await turn()
    copied.push(outcomes.capture(journal.end, 0).from)
    durable.push(journal.durableEnd)
  }
  expect(copied).toEqual(durable)
})
