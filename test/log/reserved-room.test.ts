import { expect, test } from 'vitest'
import { aloneBytes, ReservedRoom } from '../../src/log/reserved-room.js'
import { blockBytes } from '../../src/log/segment.js'

test('room is kept for each group as if it came alone, with a checkpoint behind it, until it is given up', () => {
  const kept = new ReservedRoom()
  for (const bytes of [100, 5000]) kept.keep(bytes)
  expect(kept.bytes(200)).toBe((1 + 2) * blockBytes + 2 * aloneBytes(200))
  kept.giveUp(5000)
  expect(kept.bytes(9000)).toBe(blockBytes + aloneBytes(9000))
  kept.giveUp(100)
  expect(kept.bytes(9000)).toBe(0)
})
