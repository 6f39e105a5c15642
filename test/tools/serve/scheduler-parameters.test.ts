import { expect, test } from 'vitest'
import {
  processLimitOf,
  queueParameters,
  schedulerParameters,
} from '../../../tools/commands/serve/scheduler-parameters.js'

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

test('a transport has parameters of its own by its name, and those that are not given are the default', () => {
  const names = ['out', 'slow2']
  const options = schedulerParameters(
    [
      'slow2_destination_concurrency_limit=2',
      'default_process_limit=50',
      'slow2_destination_rate_delay=1m',
      'slow2_process_limit=10',
      'out_initial_destination_concurrency=1',
    ],
    names,
  )
  expect(options).toEqual({
    defaultProcessLimit: 50,
    transports: {
      slow2: { destinationConcurrencyLimit: 2, destinationRateDelay: 60, processLimit: 10 },
      out: { initialDestinationConcurrency: 1 },
    },
  })
  expect(processLimitOf(options, names)).toBe(60)
  expect(() => schedulerParameters(['slow2_destination_limit=1'], names)).toThrow(
    /^-o slow2_destination_limit=1: .*the scheduler has no such parameter/,
  )
  expect(() => schedulerParameters(['fast_destination_concurrency_limit=1'], names)).toThrow(
    /no such parameter/,
  )
})

test.each([
  ['default_destination_concurrency_limit', /^-o wants NAME=VALUE, not 'default_destination/],
  ['default_destination_concurrency_limit=many', /^-o default_.*=many: .* must be an integer from 0 to /],
  ['default_destination_concurency_limit=5', /^-o default_.*=5: .* the scheduler has no such parameter/],
  ['default_destination_concurrency_limit=5s', /^-o default_.*=5s: .* must be an integer from 0 to /],
  ['default_process_limit=1m', /^-o default_process_limit=1m: .* must be an integer from 1 to /],
  ['default_recipient_limit=1h5m', /^-o default_recipient_limit=1h5m: .* must be an integer /],
  ['retry_transport=retry', /^-o retry_transport=retry: a relay has no such parameter/],
  ['transport_retry_time=10s', /^-o transport_retry_time=10s: a relay has no such parameter/],
  ['transports=5', /^-o transports=5: a relay has no such parameter/],
  ['nonsense=5', /^-o nonsense=5: .* the scheduler has no such parameter/],
  ['defaultDestinationConcurrencyLimit=5', /^-o wants NAME=VALUE/],
])('%s is refused by what was given', (text, says) => {
  expect(() => schedulerParameters([text])).toThrow(says)
})

test('parameters of the queue have the units of Postfix, and a dead site rests as long as a retry waits at least', () => {
  expect(
    queueParameters([
      'minimal_backoff_time=600',
      'maximal_backoff_time=2h',
      'maximal_queue_lifetime=3',
      'bounce_queue_lifetime=12h',
      'delay_warning_time=4',
      'qmgr_message_active_limit=500',
      'default_process_limit=50',
    ]),
  ).toEqual({
    scheduler: ['minimal_backoff_time=600', 'default_process_limit=50'],
    retry: {
      minimalBackoffTimeMs: 600_000,
      maximalBackoffTimeMs: 7_200_000,
      maximalQueueLifetimeMs: 259_200_000,
      bounceQueueLifetimeMs: 43_200_000,
      delayWarningTimeMs: 14_400_000,
    },
    retryNames: [
      'minimal_backoff_time',
      'maximal_backoff_time',
      'maximal_queue_lifetime',
      'bounce_queue_lifetime',
      'delay_warning_time',
    ],
    activeCountMax: 500,
  })
})

test.each([
  ['delay_warning_time=soon', /^-o delay_warning_time=soon: a time is wanted/],
  ['qmgr_message_active_limit=0', /^-o qmgr_message_active_limit=0: a number from 1/],
  ['qmgr_message_active_limit=many', /a number from 1 to 1000000/],
])('%s is refused as a parameter of the queue', (text, says) => {
  expect(() => queueParameters([text])).toThrow(says)
})
