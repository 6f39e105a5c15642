/** What ends a message asks the journal for as much room as it takes. */
import { expect, test } from 'vitest'
import { ActiveMessage, type EnvelopePlace } from '../../src/active/active-message.js'
import { nowhere, position } from '../../src/base/position.js'
import { farthest, journalBytes, type Replacement } from '../../src/engine/ending.js'
import { Lane, holdLane, incomingLane } from '../../src/lane/lane.js'
import { envelopeOf } from '../lane/fixture.js'

const place: EnvelopePlace = { lane: holdLane, position: position(4096), bytes: 104, outOfOrder: true }
const incoming = new Lane({
  number: incomingLane,
  intervalMs: 0,
  logs: undefined,
  runner: position(4096),
  trustedEnd: nowhere,
  dataFloor: nowhere,
  lastMarks: nowhere,
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

/** 1. the journal is longer than 4 GiB  2. the last group of a segment takes 8 bytes more than it asked for  3. its commit stands behind
 * the end of the segment */
test('a message that waits asks for its note as long as its start can make it', () => {
  expect(journalBytes(released(nowhere))).toBe(journalBytes(released(farthest)))
})
