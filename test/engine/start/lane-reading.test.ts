/** Reading ahead of a runner, where the log is not kept for it any more. */
import { expect, test } from 'vitest'
import { nowhere, position, type Position } from '../../../src/base/position.js'
import { LaneReading } from '../../../src/engine/start/lane-reading.js'
import type { Parts } from '../../../src/engine/life/parts.js'
import { incomingLane, Lane } from '../../../src/lane/lane.js'
import type { PositionVisitor } from '../../../src/log/segment-files.js'
import { encodeEnvelope } from '../../../src/record/envelope.js'
import { frameBytes, kinds, sealFrame } from '../../../src/record/frame.js'
import { envelopeOf } from '../../lane/fixture.js'

const born = position(4096)

/** A frame of `incoming` with an envelope. */
function envelopeFrame(): Buffer {
  const payload = encodeEnvelope(envelopeOf())
  const frame = Buffer.alloc(frameBytes(payload.length))
  payload.copy(frame, 16)
  sealFrame(frame, 0, kinds.envelope, incomingLane, 0, payload.length, 0)
  return frame
}

/** A journal of envelopes behind which nothing can be read any more. */
class Recycled {
  readonly durableEnd = position(1_000_000)
  readonly #frame = envelopeFrame()
  readonly #count: number
  isReadOn = false

  constructor(count: number) {
    this.#count = count
  }

  get end(): Position {
    return position(born + this.#count * this.#frame.length)
  }

  async read(from: Position, _end: Position, visit: PositionVisitor): Promise<Position> {
    let at = from
    while (at < this.end) {
      const isLast = visit(this.#frame, 0, at, this.#frame.length) === true
      at = position(at + this.#frame.length)
      if (isLast) return at
    }
    this.isReadOn = true
    return at
  }
}

test('a runner of a lane in the journal reads no further than to the last that it has missed', async () => {
  const journal = new Recycled(3)
  const lane = new Lane({
    number: incomingLane,
    intervalMs: 0,
    logs: undefined,
    runner: born,
    trustedEnd: nowhere,
    dataFloor: nowhere,
    lastMarks: nowhere,
    inheritedEnd: position(0),
    wanted: true,
  })
  lane.runner.missed(journal.end)
  const life = { isOver: false, run: (work: Promise<void>): void => void work }
  const options = { clock: { monotonicMs: () => 0 } }
  const parts = { journal, life, options } as unknown as Parts
  await new Promise<void>((onRead) =>
    new LaneReading(parts, { onRead, onCaughtUp: () => undefined }).readAhead(lane),
  )
  expect([lane.runner.readAheadCount, lane.runner.isBehind]).toEqual([3, false])
  expect(journal.isReadOn).toBe(false)
})
