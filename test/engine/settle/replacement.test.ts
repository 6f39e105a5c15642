/** What a replacement says of the message that it takes the place of. */
import { expect, test } from 'vitest'
import { ActiveMessage, type EnvelopePlace } from '../../../src/active/active-message.js'
import { nowhere, position } from '../../../src/base/position.js'
import { replacementFacts } from '../../../src/engine/settle/replacement.js'
import type { Carried } from '../../../src/record/start.js'
import { envelopeOf } from '../../lane/fixture.js'

const place: EnvelopePlace = { lane: 0, position: position(4096), bytes: 100, outOfOrder: false }
const carried: Carried = {
  start: nowhere,
  notes: [],
  reported: [],
  warnings: 0,
  recoveries: 1,
  replacement: { lane: 2, timeMs: 1000 },
}

function attemptsAfter(known: Partial<Carried>): number {
  const envelope = envelopeOf(2)
  const message = new ActiveMessage(envelope, place, position(9000), { ...carried, ...known })
  const facts = replacementFacts(
    message,
    { notes: [], dsn: undefined, smtputf8: false },
    message.warnings,
    {},
    {
      wallMs: 0,
      unsetWallMs: 0,
      earlier: [],
    },
  )
  return facts.attempts - envelope.attempts
}

test.each<[string, Partial<Carried>, number]>([
  ['of which nothing is known', {}, 0],
  ['that was deferred', { notes: [{ kind: 'deferred', status: '4.2.2', text: 'full', ranges: [0, 1] }] }, 1],
  // Put off on a full disk: the next report would have the id of the one that the sender has had.
  ['of whose delay the sender was told, though no outcome is recorded', { warnings: 1 }, 1],
])('a message %s has had so many attempts more', (_, known, count) => {
  expect(attemptsAfter(known)).toBe(count)
})
