import { expect, test } from 'vitest'
import { clientOptionsOf } from '../../../tools/commands/parameters/client-parameters.js'
import { changedFixed, parametersNow } from '../../../tools/commands/parameters/fixed-parameters.js'
import {
  processLimitOf,
  queueParameters,
  schedulerParameters,
} from '../../../tools/commands/parameters/scheduler-parameters.js'

const names = ['smtp', 'relay', 'lmtp', 'slow']

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
  expect(names.map((name) => processLimitOf(options, name))).toEqual([50, 10])
  expect(() => schedulerParameters(['slow2_destination_limit=1'], names)).toThrow(
    /^-o slow2_destination_limit=1: there is no such parameter/,
  )
  expect(() => schedulerParameters(['fast_destination_concurrency_limit=1'], names)).toThrow(
    /: there is no transport 'fast'; there are out, slow2$/,
  )
})

test.each([
  ['default_destination_concurrency_limit', /^-o takes NAME=VALUE, not 'default_destination/],
  ['default_destination_concurrency_limit=many', /^-o default_.*=many: it must be an integer from 0 to /],
  ['default_destination_concurency_limit=5', /^-o default_.*=5: there is no such parameter/],
  ['default_destination_concurrency_limit=5s', /^-o default_.*=5s: it must be an integer from 0 to /],
  ['default_process_limit=1m', /^-o default_process_limit=1m: it must be an integer from 1 to \d+$/],
  ['destination_concurrency_feedback_debug=true', /debug=true: it must be yes or no$/],
  ['default_recipient_limit=1h5m', /^-o default_recipient_limit=1h5m: it must be an integer /],
  ['retry_transport=retry', /^-o retry_transport=retry: a relay has no such parameter/],
  ['transport_retry_time=10s', /^-o transport_retry_time=10s: a relay has no such parameter/],
  ['transports=5', /^-o transports=5: a relay has no such parameter/],
  ['nonsense=5', /^-o nonsense=5: there is no such parameter/],
  ['defaultDestinationConcurrencyLimit=5', /^-o takes NAME=VALUE/],
  ['relayhost=[mx.example.net]', /^-o relayhost=.*: here it is --relay$/],
  ['queue_run_delay=5m', /: here it is nothing: what is due is known without a scan$/],
])('%s is refused by what was given', (text, says) => {
  expect(() => schedulerParameters([text])).toThrow(says)
})

test('parameters of the queue have the units of Postfix, and a dead site rests as long as a retry waits at least', () => {
  expect(
    queueParameters(
      [
        'minimal_backoff_time=600',
        'maximal_backoff_time=2h',
        'maximal_queue_lifetime=3',
        'bounce_queue_lifetime=12h',
        'delay_warning_time=4',
        'qmgr_message_active_limit=500',
        'default_process_limit=50',
      ],
      names,
    ),
  ).toEqual({
    scheduler: { minimalBackoffTime: 600, defaultProcessLimit: 50 },
    clients: new Map(),
    deferred: new Set(),
    inFlowDelayMs: 1000,
    alwaysBcc: undefined,
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
  ['delay_warning_time=soon', /^-o delay_warning_time=soon: expected a time/],
  ['qmgr_message_active_limit=0', /^-o qmgr_message_active_limit=0: expected a number from 1/],
  ['qmgr_message_active_limit=many', /a number from 1 to 1000000/],
])('%s is refused as a parameter of the queue', (text, says) => {
  expect(() => queueParameters([text], names)).toThrow(says)
})

test('Maildirs have the limits of local, unless they are said', () => {
  const own = ['smtp', 'maildir']
  expect(queueParameters(['default_destination_concurrency_limit=9'], own).scheduler).toEqual({
    defaultDestinationConcurrencyLimit: 9,
    transports: { maildir: { destinationConcurrencyLimit: 2, destinationRecipientLimit: 1 } },
  })
  expect(queueParameters(['maildir_destination_concurrency_limit=5'], own).scheduler).toEqual({
    transports: { maildir: { destinationConcurrencyLimit: 5, destinationRecipientLimit: 1 } },
  })
})

const clientOf = (texts: readonly string[], transport: string): unknown =>
  clientOptionsOf(queueParameters(texts, names).clients, transport)

test('parameters of smtp(8) are for every transport that speaks SMTP; its own go before them', () => {
  const texts = [
    'smtp_connect_timeout=30s',
    'smtp_helo_timeout=1m',
    'smtp_connection_cache_time_limit=5',
    'relay_connect_timeout=2',
    'relay_connection_reuse_count_limit=0',
    'slow_connection_cache_on_demand=no',
    'lmtp_lhlo_timeout=9s',
    'lmtp_data_done_timeout=2m',
  ]
  const helo = { greetingTimeoutMs: 60_000, heloTimeoutMs: 60_000 }
  expect(clientOf(texts, 'smtp')).toEqual({
    ...helo,
    connectTimeoutMs: 30_000,
    connectionReuse: { idleMs: 5000 },
  })
  expect(clientOf(texts, 'relay')).toEqual({
    ...helo,
    connectTimeoutMs: 2000,
    connectionReuse: { idleMs: 5000, messagesMax: 1_000_000 },
  })
  expect(clientOf(texts, 'slow')).toMatchObject({ connectionReuse: { idleMs: 0 } })
  expect(clientOf(texts, 'lmtp')).toEqual({
    greetingTimeoutMs: 9000,
    heloTimeoutMs: 9000,
    dataDoneTimeoutMs: 120_000,
  })
  expect(clientOf([], 'smtp')).toEqual({})
})

test.each([
  ['smtp_connect_timeout=0', /^-o smtp_connect_timeout=0: expected a time from 1ms to 1d, such as 30s$/],
  ['smtp_connection_cache_on_demand=maybe', /: expected yes or no$/],
  ['smtp_connection_reuse_count_limit=-1', /: expected a number from 0 \(no limit\) to 1000000$/],
  ['lmtp_helo_timeout=5s', /: there is no such parameter$/],
  ['fast_connect_timeout=5s', /: there is no transport 'fast'; there are smtp, relay, lmtp, slow$/],
  ['always_bcc=nobody', /: expected an address$/],
  ['in_flow_delay=11s', /: expected a time from 0 to 10s$/],
  ['defer_transports=smtp, fast', /: there is no transport 'fast'; there are smtp, relay, lmtp, slow$/],
])('%s is refused as a parameter of a transport', (text, says) => {
  expect(() => queueParameters([text], names)).toThrow(says)
})

test('defer_transports is a list, and the last one counts', () => {
  const deferredOf = (...texts: string[]): unknown => [...queueParameters(texts, names).deferred]
  expect(deferredOf('defer_transports=smtp, relay slow')).toEqual(['smtp', 'relay', 'slow'])
  expect(deferredOf('defer_transports=smtp', 'defer_transports=')).toEqual([])
})

test('a reload takes up what is not fixed', () => {
  const atStart = ['maximal_backoff_time=1h', 'default_process_limit=5', 'slow_recipient_limit=7']
  const now = ['maximal_backoff_time=2h', 'smtp_destination_recipient_limit=9', 'slow_recipient_limit=7']
  expect(parametersNow(atStart, now)).toEqual([
    'maximal_backoff_time=1h',
    'slow_recipient_limit=7',
    'smtp_destination_recipient_limit=9',
  ])
  expect(changedFixed(atStart, now)).toEqual(['maximal_backoff_time'])
  expect(changedFixed([], ['default_delivery_slot_cost=0', 'qmgr_message_recipient_limit=5'])).toEqual([
    'default_delivery_slot_cost',
    'qmgr_message_recipient_limit',
  ])
})
