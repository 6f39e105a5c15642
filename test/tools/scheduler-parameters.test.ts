import { expect, test } from 'vitest'
import { schedulerParameters } from '../../tools/commands/scheduler-parameters.js'

test('names and values of main.cf become parameters of the scheduler', () => {
  expect(
    schedulerParameters([
      'default_destination_concurrency_limit=7',
      'default_destination_concurrency_limit=5',
      'initial_destination_concurrency=2',
      'default_destination_rate_delay=1s',
      'default_recipient_refill_delay=2.5',
      'default_destination_concurrency_positive_feedback=1/concurrency',
      'default_destination_concurrency_negative_feedback=0.5',
      'default_destination_canary=yes',
      'default_destination_slow_start=no',
    ]),
  ).toEqual({
    defaultDestinationConcurrencyLimit: 5,
    initialDestinationConcurrency: 2,
    defaultDestinationRateDelay: 1,
    defaultRecipientRefillDelay: 2.5,
    defaultDestinationConcurrencyPositiveFeedback: '1/concurrency',
    defaultDestinationConcurrencyNegativeFeedback: '0.5',
    defaultDestinationCanary: true,
    defaultDestinationSlowStart: false,
  })
})

test.each([
  ['default_destination_concurrency_limit', /^-o wants NAME=VALUE, not 'default_destination/],
  ['default_destination_concurrency_limit=many', /^-o default_.*=many: .* must be an integer from 0 to /],
  ['default_destination_concurency_limit=5', /^-o default_.*=5: .* must be the name of a parameter/],
  ['retry_transport=retry', /^-o retry_transport=retry: a relay has no such parameter/],
  ['nonsense=5', /^-o nonsense=5: .* must be the name of a parameter/],
  ['defaultDestinationConcurrencyLimit=5', /^-o wants NAME=VALUE/],
])('%s is refused by what was given', (text, says) => {
  expect(() => schedulerParameters([text])).toThrow(says)
})
