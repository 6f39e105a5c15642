import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { feedbackAt, parseFeedback } from '../../src/scheduler/concurrency.js'
import { checkedParameters } from '../../src/scheduler/parameter-bounds.js'
import type { SchedulerOptions } from '../../src/scheduler/parameters.js'

const refusal = (options: unknown): unknown => {
  try {
    return checkedParameters(options as SchedulerOptions)
  } catch (error) {
    return error
  }
}

describe('an option that is refused names itself, its value and its bound:', () => {
  test.each([
    [
      { defaultDeliverySlotDiscount: 120 },
      'defaultDeliverySlotDiscount is 120, must be an integer from 0 to 100',
    ],
    [
      { initialDestinationConcurrency: 0 },
      'initialDestinationConcurrency is 0, must be an integer from 1 to',
    ],
    [{ defaultProcessLimit: 1.5 }, 'defaultProcessLimit is 1.5, must be an integer from 1 to'],
    [{ qmgrMessageActiveLimit: '20' }, 'qmgrMessageActiveLimit is "20", must be an integer from 1 to'],
    [{ minimalBackoffTime: Number.NaN }, 'minimalBackoffTime is null, must be seconds from 0.001 to'],
    [
      { transports: { smtp: { processLimit: -1 } } },
      'transports.smtp.processLimit is -1, must be an integer from 1',
    ],
    [
      { transports: { smtp: { destinationConcurrencyPositiveFeedback: '2/concurrency' } } },
      'transports.smtp.destinationConcurrencyPositiveFeedback is "2/concurrency", must be x, x/y,',
    ],
    [{ feedbackRounding: 'yes' }, 'feedbackRounding is "yes", must be true or false'],
    [{ defaultProcesLimit: 1 }, 'the scheduler has no such parameter (option defaultProcesLimit)'],
    [
      { transports: { smtp: { defaultProcessLimit: 1 } } },
      'no such parameter; for one transport it is processLimit (option transports.smtp.defaultProcessLimit)',
    ],
    [
      { destinationRateDelay: 1 },
      'no such parameter; for all transports it is defaultDestinationRateDelay (option destinationRateDelay)',
    ],
    // Of none of these a parameter would be read.
    [5, 's parameters are members of an object'],
    [[], 's parameters are members of an object'],
    [{ transports: 5 }, 's parameters are members of an object (option transports)'],
    [
      { transports: new Map([['smtp', { processLimit: 1 }]]) },
      's parameters are members of an object (option transports)',
    ],
    [{ transports: { smtp: null } }, 's parameters are members of an object (option transports.smtp)'],
    [{ transports: { smtp: 5 } }, 's parameters are members of an object (option transports.smtp)'],
  ])('%j', (options, text) => {
    expect(refusal(options)).toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining(text) as string,
    })
  })
})

test('every parameter has the default of Postfix', () => {
  const { defaults, minimalBackoffTime, transportRetryTime, ...rest } = checkedParameters({})
  expect(defaults).toMatchObject({
    processLimit: 100,
    initialDestinationConcurrency: 5,
    destinationConcurrencyLimit: 20,
    destinationRecipientLimit: 50,
    destinationConcurrencyPositiveFeedback: '1',
    destinationConcurrencyNegativeFeedback: '1',
    destinationConcurrencyFailedCohortLimit: 1,
    deliverySlotCost: 5,
    deliverySlotLoan: 3,
    deliverySlotDiscount: 50,
    minimumDeliverySlots: 3,
    recipientLimit: 20_000,
    extraRecipientLimit: 1000,
    recipientRefillLimit: 100,
    recipientRefillDelay: 5,
    destinationRateDelay: 0,
  })
  expect([minimalBackoffTime, transportRetryTime]).toEqual([300, 60])
  expect(rest).toMatchObject({
    qmgrMessageActiveLimit: 20_000,
    qmgrMessageRecipientLimit: 20_000,
    qmgrMessageRecipientMinimum: 10,
    destinationConcurrencyFeedbackDebug: false,
  })
})

test('a transport has its own value, else the default of the queue, else that of Postfix', () => {
  const { transports } = checkedParameters({
    defaultProcessLimit: 7,
    defaultDeliverySlotCost: 4,
    transports: { smtp: { processLimit: 3 } },
  })
  expect(transports.get('smtp')).toMatchObject({ processLimit: 3, deliverySlotCost: 4, deliverySlotLoan: 3 })
})

test('a rate delay forces a window of one, and the limit cuts the initial concurrency', () => {
  const { transports } = checkedParameters({
    transports: { slow: { destinationRateDelay: 1 }, small: { destinationConcurrencyLimit: 2 } },
  })
  expect(transports.get('slow')).toMatchObject({ windowLimit: 1, initialWindow: 1 })
  expect(transports.get('small')).toMatchObject({ windowLimit: 2, initialWindow: 2 })
})

describe('feedback', () => {
  test.each([
    ['1', 4, 1],
    ['0.25', 4, 0.25],
    ['.5', 9, 0.5],
    ['1/8', 9, 1 / 8],
    ['1/concurrency', 4, 1 / 4],
    ['0.5 / sqrt_concurrency', 4, 0.25],
  ])('%s at window %d is %d', (text, window, amount) => {
    expect(feedbackAt(parseFeedback(text)!, window)).toBe(amount)
  })

  test.each(['', '-1', '1.5', '2/concurrency', '1/0', '1/window', '0x1', '1/concurrency/2', 'Infinity'])(
    '%j is refused',
    (text) => {
      expect(parseFeedback(text)).toBeUndefined()
    },
  )

  test('lies in 0 … 1 at every window', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.constantFrom('', '/concurrency', '/sqrt_concurrency'),
        fc.integer({ min: 1, max: 1000 }),
        (x, form, window) => {
          const amount = feedbackAt(parseFeedback(`${x.toFixed(9)}${form}`)!, window)
          expect(amount).toBeGreaterThanOrEqual(0)
          expect(amount).toBeLessThanOrEqual(1)
        },
      ),
    )
  })
})

test('the default that a parameter names is the one that it has', () => {
  const text = readFileSync(new URL('../../src/scheduler/parameters.ts', import.meta.url), 'utf8')
  const named = [
    ...text.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*?)Default ([^\n]*?)\. \*\/\n {2}readonly (\w+): /g),
  ].map(([, , value, name]) => [name!, value!.replace(/^'(.*)'$/, '$1').replaceAll(' ', '')])
  const { defaults, ...own } = checkedParameters({})
  const checked: Readonly<Record<string, unknown>> = { ...defaults, ...own }
  expect(named.length).toBeGreaterThan(25)
  expect(named.filter(([name, value]) => String(checked[name!]) !== value)).toEqual([])
  // What stands behind is made of them.
  const given = text.slice(0, text.indexOf('export interface TransportSettings'))
  const members = [...given.matchAll(/^ {2}readonly (\w+): (?:number|boolean|string)$/gm)].map(
    ([, name]) => name,
  )
  expect(members.filter((member) => !named.some(([name]) => name === member))).toEqual([])
})
