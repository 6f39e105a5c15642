/** The first attempt on a message that an earlier life may have had waits for its start. */
import { expect, test } from 'vitest'
import { ActiveMessage } from '../../../src/active/active-message.js'
import { position } from '../../../src/base/position.js'
import type { Job } from '../../../src/engine/deliver/job.js'
import { StartBarrier } from '../../../src/engine/deliver/start-barrier.js'
import type { Parts } from '../../../src/engine/life/parts.js'
import { incomingLane } from '../../../src/lane/lane.js'
import type { Entry } from '../../../src/scheduler/scheduler.js'
import { envelopeOf } from '../../lane/fixture.js'

const inheritedEnd = 8192
const start = position(65_536)

/** @returns whether an attempt on a message at that place waits while its start is not durable, and
 * goes on when it is */
function waitsAt(at: number, outOfOrder: boolean): readonly [boolean, boolean] {
  const journal = { durableEnd: start, want: (): void => undefined }
  const lanes = { has: () => true, get: () => ({ inheritedEnd }) }
  const barrier = new StartBarrier({ journal, lanes, options: {} } as unknown as Parts)
  const place = { lane: incomingLane, position: position(at), bytes: 104, outOfOrder }
  const message = new ActiveMessage(envelopeOf(), place, start, undefined)
  const entry = { message: { message } } as unknown as Entry<Job>
  const isKept = barrier.keeps(entry)
  journal.durableEnd = position(start + 1)
  return [isKept, barrier.take() === entry]
}

test('mail of this life waits for nothing, inherited mail for its start, also where it was written anew', () => {
  expect(waitsAt(inheritedEnd, false)).toEqual([false, false])
  expect(waitsAt(inheritedEnd - 4096, false)).toEqual([true, true])
  expect(waitsAt(inheritedEnd, true)).toEqual([true, true])
})
