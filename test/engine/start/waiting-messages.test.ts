/** A walk through a lane reads into one window: a long one where little is wanted. */
import { expect, test } from 'vitest'
import { nowhere, position, type Position } from '../../../src/base/position.js'
import type { Parts } from '../../../src/engine/life/parts.js'
import { Stretch, type WantedTest } from '../../../src/engine/start/waiting-messages.js'
import { incomingLane, Lane } from '../../../src/lane/lane.js'
import type { PositionVisitor } from '../../../src/log/segment-files.js'
import { encodeEnvelope } from '../../../src/record/envelope.js'
import { frameBytes, kinds, sealFrame } from '../../../src/record/frame.js'
import { envelopeOf } from '../../lane/fixture.js'

const born = position(4096)
const count = 60_000

/** A journal of one envelope, again and again. */
class Repeated {
  readonly grid = { indexOf: (): number => 0 }
  readonly windows: Buffer[] = []
  readonly #payload = encodeEnvelope(envelopeOf())
  readonly #bytes = frameBytes(this.#payload.length)

  get end(): Position {
    return position(born + count * this.#bytes)
  }

  get durableEnd(): Position {
    return this.end
  }

  async read(from: Position, end: Position, visit: PositionVisitor, window: Buffer): Promise<Position> {
    this.windows.push(window)
    this.#payload.copy(window, 16)
    sealFrame(window, 0, kinds.envelope, incomingLane, 0, this.#payload.length, 0)
    let at = from
    for (let isLast = false; at < end && !isLast; at = position(at + this.#bytes))
      isLast = visit(window, 0, at, this.#bytes) === true
    return at
  }
}

function stretchOf(journal: Repeated): Stretch {
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
  const pins = { pin: () => undefined, release: () => undefined }
  const life = { orEnd: <T>(work: Promise<T>): Promise<T> => work, isOver: false }
  const parts = { journal, life, garbage: { of: () => pins } }
  return new Stretch(parts as unknown as Parts, lane)
}

/** Bytes of the windows of a walk, all of them in one piece of memory. */
async function windowBytesOf(isWanted: WantedTest): Promise<number[]> {
  const journal = new Repeated()
  const stretch = stretchOf(journal)
  for await (const _ of stretch.batches(async () => undefined, isWanted));
  stretch.end()
  expect(new Set(journal.windows.map(({ buffer }) => buffer)).size).toBe(1)
  return journal.windows.map(({ length }) => length)
}

const short = 64 * 1024
const long = 256 * 1024

test('a window is long behind a batch for which much was passed over', async () => {
  const [first, ...others] = await windowBytesOf(() => false)
  expect(first).toBe(short)
  expect(others.length).toBeGreaterThan(1)
  expect(new Set(others)).toEqual(new Set([long]))
})

test('a window stays short where all that is met is wanted', async () => {
  expect(new Set(await windowBytesOf(() => true))).toEqual(new Set([short]))
})

test('a window is short again where more is wanted', async () => {
  let met = 0
  const windows = await windowBytesOf(() => ++met > 50_000)
  expect(windows[0]).toBe(short)
  expect(windows[1]).toBe(long)
  expect(windows.at(-1)).toBe(short)
})
