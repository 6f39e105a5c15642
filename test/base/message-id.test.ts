import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  isMessageId,
  isSubmitterId,
  MessageIds,
  newMessageId,
  reportId,
  type MessageId,
} from '../../src/base/message-id.js'
import { seededPrng } from '../../src/base/prng.js'

test('ids of one life are all different, whatever the clock does', () => {
  const anyTimes = fc.array(fc.integer({ min: 0, max: 2 ** 45 - 1 }), { maxLength: 300 })
  fc.assert(
    fc.property(fc.integer(), anyTimes, (seed, times) => {
      const ids = new MessageIds(seededPrng(seed))
      const given = [...times, ...times].map((wallMs) => ids.next(wallMs))
      expect(new Set(given).size).toBe(given.length)
      for (const id of given) expect(isMessageId(id)).toBe(true)
    }),
  )
})

test('an id given later sorts behind one given earlier', () => {
  const anyTime = fc.integer({ min: 0, max: 2 ** 45 - 1 })
  fc.assert(
    fc.property(anyTime, anyTime, fc.integer(), (one, other, seed) => {
      fc.pre(one !== other)
      const ids = new MessageIds(seededPrng(seed))
      const [early, late] = [Math.min(one, other), Math.max(one, other)]
      const lateId = ids.next(late)
      expect(ids.next(early) < lateId).toBe(true)
    }),
  )
})

test('the count wraps without leaving its seven characters', () => {
  const ids = new MessageIds({ uint32: () => 0xffff_ffff })
  // The count starts less than eight below its bound.
  const given = Array.from({ length: 20 }, () => ids.next(0))
  expect(new Set(given).size).toBe(20)
  for (const id of given) expect(id).toMatch(/^.{16}$/)
  expect(given.some((id) => id.endsWith('0000000'))).toBe(true)
})

test('no queue gives an id that a submitter gives: their numbers are even and odd', () => {
  for (let seed = 0; seed < 100; seed++) {
    const [queue, submitter] = [
      new MessageIds(seededPrng(seed)),
      new MessageIds(seededPrng(seed), 'submitter'),
    ]
    expect([isSubmitterId(queue.next(1)), isSubmitterId(submitter.next(1))]).toEqual([false, true])
  }
  expect(isSubmitterId(newMessageId())).toBe(true)
})

test('a report has the id of its message and the number of the attempt, of all times that it was new', () => {
  const id = new MessageIds(seededPrng(1)).next(1_790_000_000_000)
  expect(id.slice(0, 9)).toBe('1M3250V00')
  expect(isMessageId(reportId(id, 3, 0))).toBe(true)
  expect(reportId(id, 3, 0)).toBe(`${id}-3`)
  expect(reportId(id, 3, 2)).toBe(`${id}-2000003`)
  expect(isMessageId(reportId(id, 999_999, 999))).toBe(true)
})

test('what is no id is not taken for one', () => {
  const id = '1M3250V050000001' as MessageId
  for (const text of [
    '',
    id.slice(1),
    `${id}0`,
    id.toLowerCase(),
    id.replace('M', 'I'),
    `${id}-0`,
    `${id}-`,
    ` ${id}`,
  ])
    expect(isMessageId(text)).toBe(false)
})
