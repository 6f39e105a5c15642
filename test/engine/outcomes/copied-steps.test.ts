/** Outcomes are copied in steps: where a step ends, and what earlier lives have copied of one. */
import { expect, test } from 'vitest'
import type { MessageId } from '../../../src/base/message-id.js'
import { nowhere, position, type Position } from '../../../src/base/position.js'
import { WaybillError } from '../../../src/errors.js'
import type { PositionVisitor } from '../../../src/log/segment-files.js'
import { encodeFinish } from '../../../src/record/finish.js'
import { frameBytes, frameHeaderBytes, kinds, sealFrame } from '../../../src/record/frame.js'
import { outcomesOver } from './outcomes-over.js'

/** More of the journal than is read in one step. */
const farBytes = 2 ** 20

type Frame = {
  readonly kind: (typeof kinds)[keyof typeof kinds]
  readonly lane: number
  readonly payload: Buffer
}

const told = {
  id: '0123456789ABCDE0' as MessageId,
  sender: 'ada@example.org',
  why: undefined,
  recipientCount: 0,
  tags: [],
}
/** One outcome. */
const finish: Frame = {
  kind: kinds.finish,
  lane: 0,
  payload: encodeFinish({ start: nowhere, reported: [], spool: 0, told }),
}

/** Copies a journal whose frames stand far apart.
 * @param skip outcomes that an earlier life has copied @param rot the frame that cannot be read
 * @param later frames at the end that become durable when all others are copied
 * @returns the number of the last outcome, and how many frames each step has read */
async function copied(
  frames: readonly Frame[],
  { skip = 0, rot = Infinity, later = 0 }: { skip?: number; rot?: number; later?: number } = {},
): Promise<{ number: number; steps: number[] }> {
  const steps: number[] = []
  const read = async (from: number, end: number, visit: PositionVisitor): Promise<Position> => {
    const first = from / farBytes
    for (let i = first; i < end / farBytes; i++) {
      if (i === rot) throw new WaybillError('LOG_CORRUPT', 'rot')
      const { kind, lane, payload } = frames[i]!
      const window = Buffer.alloc(frameBytes(payload.length))
      window.set(payload, frameHeaderBytes)
      sealFrame(window, 0, kind, lane, 0, payload.length, 7)
      if (visit(window, 0, position(i * farBytes), window.length) === true) {
        steps.push(i + 1 - first)
        return position((i + 1) * farBytes)
      }
    }
    steps.push(end / farBytes - first)
    return position(end)
  }
  const durableEnd = position((frames.length - later) * farBytes)
  const journal = { read, durableEnd, end: durableEnd }
  const work: Promise<unknown>[] = []
  const checkpointed = {
    floor: nowhere,
    end: nowhere,
    from: nowhere,
    skip,
    number: skip,
    consumers: [{ name: 'it', cursor: 0 }],
  }
  const outcomes = await outcomesOver(journal, checkpointed, (one) => work.push(one))
  await outcomes.restore()
  await Promise.all(work)
  journal.durableEnd = position(frames.length * farBytes)
  outcomes.copy()
  await Promise.all(work)
  outcomes.stop()
  return { number: outcomes.number, steps }
}

test('what earlier lives have copied of a longer step is not copied again', async () => {
  const frames = Array.from({ length: 8 }, () => finish)
  for (let skip = 0; skip <= 8; skip++) expect((await copied(frames, { skip })).number).toBe(8)
})

test('what becomes durable behind rot is copied, although outcomes before it were', async () => {
  const damaged = { skip: 1, rot: 0, later: 1 }
  expect((await copied([finish, finish], damaged)).number).toBe(2)
})

test('a message that is replaced in the only log ends a step', async () => {
  const replacement: Frame[] = [
    { kind: kinds.data, lane: 3, payload: Buffer.from('Subject: x\r\n\r\n') },
    { kind: kinds.envelope, lane: 3, payload: Buffer.alloc(0) },
  ]
  const { steps } = await copied([...replacement, ...replacement, ...replacement])
  expect(steps).toEqual([2, 2, 2])
})
