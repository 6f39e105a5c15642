/** What ends a message asks the journal for as much room as it takes. */
import { expect, test } from 'vitest'
import { ActiveMessage, type EnvelopePlace } from '../../../src/active/active-message.js'
import { nowhere, position } from '../../../src/base/position.js'
import { farthest } from '../../../src/engine/settle/late-start.js'
import { journalBytes, type Replacement } from '../../../src/engine/settle/replacement.js'
import { seededPrng } from '../../../src/base/prng.js'
import { release } from '../../../src/admin/verbs/release.js'
import type { VerbResult } from '../../../src/admin/verbs/tally.js'
import { openEngine } from '../../../src/engine/open.js'
import { Lane, holdLane, incomingLane } from '../../../src/lane/lane.js'
import { SimDisk } from '../../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../../src/sim/world/world.js'
import { envelopeOf } from '../../lane/fixture.js'
import { delivered, failed, submission } from '../stage.js'

const place: EnvelopePlace = { lane: holdLane, position: position(4096), bytes: 104, outOfOrder: true }
const incoming = new Lane({
  number: incomingLane,
  intervalMs: 0,
  logs: undefined,
  runner: position(4096),
  trustedEnd: nowhere,
  dataFloor: nowhere,
  lastMarks: nowhere,
  inheritedEnd: position(0),
  wanted: true,
})

const released = (start: number): Replacement => ({
  message: new ActiveMessage(envelopeOf(), place, position(start), undefined),
  lane: incoming,
  timeMs: undefined,
  facts: envelopeOf(),
  recipients: envelopeOf().recipients,
  data: Buffer.from('Hello.\r\n'),
  written: undefined,
  reported: [],
})

/**    1. the journal is longer than 4 GiB
 *    2. the last group of a segment takes 8 bytes more than it asked for
 *    3. its commit stands behind
 * the end of the segment */
test('a message that waits asks for its note as long as its start can make it', () => {
  expect(journalBytes(released(nowhere))).toBe(journalBytes(released(farthest)))
})

const simulated = (world: SimWorld) => ({
  segmentBytes: 256 * 4096,
  laneSegmentBytes: 256 * 4096,
  freeBytesMin: 0,
  clock: world.clock,
  prng: seededPrng(1),
  disk: new SimDisk(world),
  route: () => ({ transport: 'out', nexthop: 'example.net' }),
})

test('a finish asks for room for all recipients that its report names', async () => {
  const world = new SimWorld({ seed: 1 })
  const groups: { readonly askedBytes: number; readonly bytes: number }[] = []
  const run = async (): Promise<void> => {
    const { parts, engine } = await openEngine('simulated', {
      ...simulated(world),
      transports: {
        out: {
          deliver: ({ recipients }) =>
            recipients.map((recipient) => (/[02468]@/.test(recipient) ? delivered : failed)),
        },
      },
    })
    const { journal, events } = parts
    const room = journal.room.bind(journal)
    const open = journal.open.bind(journal)
    let askedBytes = 0
    journal.room = (bytes, claim) => room((askedBytes = bytes), claim)
    journal.open = (bytes) => {
      groups.push({ askedBytes, bytes })
      open(bytes)
    }
    const reported = new Promise((resolve) => events.once('reported', resolve))
    await engine.accept.submit(submission(Array.from({ length: 4000 }, (_, i) => `r${i}@example.net`)))
    await reported
    parts.life.end(undefined)
  }
  await world.settle(run())
  const large = groups.filter(({ bytes }) => bytes > 8192)
  expect(large).toHaveLength(2)
  for (const { askedBytes, bytes } of large) expect(askedBytes).toBeGreaterThanOrEqual(bytes)
})

/**    1. an order for a message in a lane finds no room
 *    2. room comes before that answer has reached the order
 *    3. nothing else happens: the order would wait for ever */
test('an order for a waiting message misses no room that comes as soon as it has found none', async () => {
  const world = new SimWorld({ seed: 1 })
  let askedCount = 0
  const run = async (): Promise<VerbResult> => {
    const opened = await openEngine('simulated', {
      ...simulated(world),
      transports: { out: { deliver: () => delivered } },
    })
    const { engine, parts } = opened
    await engine.accept.submit({ ...submission(['a@example.net']), hold: true })
    await engine.idle()
    engine.settle.room.mayHave = () => {
      if (askedCount++ > 0) return true
      queueMicrotask(() => engine.settle.roomChanged())
      return false
    }
    const result = await release(opened, { all: true }, {})
    parts.life.end(undefined)
    return result
  }
  expect(await world.settle(run())).toMatchObject({ messageCount: 1 })
  expect(askedCount).toBe(2)
})
