import { expect, test } from 'vitest'
import { seededPrng } from '../../../src/base/prng.js'
import { BusyDay, rateAt } from '../../../tools/commands/fill/busy-day.js'

const day = (seed: number): BusyDay => new BusyDay(seededPrng(seed))

test('the same seed gives the same day', () => {
  const mails = (seed: number): unknown[] => {
    const one = day(seed)
    return Array.from({ length: 50 }, () => one.mail())
  }
  expect(mails(7)).toEqual(mails(7))
  expect(mails(7)).not.toEqual(mails(8))
})

test('the morning is the busiest time, and no hour is without mail', () => {
  const rates = Array.from({ length: 24 }, (_, hour) => rateAt(hour, 100))
  expect(rates.indexOf(Math.max(...rates))).toBeGreaterThanOrEqual(8)
  expect(rates.indexOf(Math.max(...rates))).toBeLessThanOrEqual(11)
  expect(Math.max(...rates)).toBeLessThanOrEqual(100)
  expect(Math.min(...rates)).toBeGreaterThan(1)
})

test('every site that gets mail answers, and troubles have their hours', () => {
  const one = day(1)
  for (let i = 0; i < 200; i++)
    for (const recipient of one.mail().recipients) {
      const { answer, delayMs } = one.answer(recipient.split('@')[1]!, 8, 1)
      expect(delayMs).toBeGreaterThan(0)
      expect(answer).not.toMatchObject({ status: '5.1.2' })
    }
  expect(one.answer('corporation.example', 13, 0).answer.kind).toBe('site')
  expect(one.answer('corporation.example', 16, 0).answer.kind).toBe('delivered')
  expect(one.answer('university.example', 3, 0).answer.kind).toBe('deferred')
  expect(one.answer('university.example', 3, 1).answer.kind).toBe('delivered')
  expect(one.answer('nowhere.example', 3, 0).answer.kind).toBe('failed')
})
