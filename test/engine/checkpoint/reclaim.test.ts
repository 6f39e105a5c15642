/** Room that is tried for while the disk is full. */
import { expect, test } from 'vitest'
import type { Parts } from '../../../src/engine/life/parts.js'
import { Reclaim } from '../../../src/engine/checkpoint/reclaim.js'

test('room is tried for in the lanes that are full, and not in one that is on its way out', () => {
  const tried: string[] = []
  const log = (name: string): object => ({ diskFull: true, extend: () => tried.push(name) })
  const lane = (name: string, isRetired: boolean): object => ({
    isRetired,
    logs: { envelopes: log(`envelopes of ${name}`), data: log(`data of ${name}`) },
  })
  let look = (): void => undefined
  const parts = {
    journal: { refill: () => Promise.resolve() },
    lanes: [lane('one', false), lane('the other', true)],
    keys: { log: log('keys') },
    outcomes: { log: undefined, wake: () => undefined },
    life: { isOver: false, run: () => undefined },
    options: { clock: { after: (_: number, callback: () => void) => (look = callback) } },
  } as unknown as Parts
  new Reclaim(parts).retry()
  look()
  expect(tried).toEqual(['keys', 'envelopes of one', 'data of one'])
})
